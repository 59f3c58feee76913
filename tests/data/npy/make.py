"""Wrote the .npy files beside it, with NumPy 2.4; tests/runtime/npy.cpp knows what they hold."""
import numpy as np

for code in ["|b1", "|u1", "|i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8", ">i2", ">i4", ">i8", ">f2", ">f4", ">f8"]:
    values = (np.arange(6) % 2 == 1) if code == "|b1" else np.arange(6) - (0 if code == "|u1" else 2)
    name = code.replace("|", "").replace("<", "").replace(">", "big_")
    np.save(f"{name}.npy", values.astype(code).reshape(2, 3))

np.save("fortran.npy", np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
np.save("fortran_big.npy", np.asfortranarray(np.arange(6, dtype=">f8").reshape(2, 3)))
np.save("scalar.npy", np.float32(2.5))
np.save("vector.npy", np.arange(5, dtype="<i8"))
np.save("empty.npy", np.zeros((3, 0, 2), dtype="<f4"))
for version in [(2, 0), (3, 0)]:
    with open(f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(4, dtype="<f8"), version=version)
with open("misaligned.npy", "wb") as file:  # data at byte 75
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }".ljust(64) + b"\n"
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + np.arange(3, dtype="<f8").tobytes())
    file.flush()

for name, values in {"u2": np.arange(2, dtype="<u2"), "c8": np.zeros(2, "<c8"), "text": np.array(["ab"]),
                     "date": np.array(["2020-01-01"], dtype="datetime64[D]"), "long_double": np.zeros(1, np.longdouble),
                     "record": np.zeros(2, [("a", "<f4"), ("b", "<i4", (2,))])}.items():
    np.save(f"refused_{name}.npy", values)
np.save("refused_object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
