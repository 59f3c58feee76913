"""Parameters as one vector, and back."""
from ... import cat


def parameters_to_vector(parameters):
    """All elements of all parameters in a row."""
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Writes such a vector back."""
    at = 0
    for parameter in parameters:
        parameter.data = vec[at:at + parameter.numel()].view_as(parameter).data
        at += parameter.numel()
