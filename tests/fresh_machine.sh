#!/usr/bin/env bash
# Proves the README's first sentence: on a machine that has only git, `./dev demo` and `./dev test` work.
#
# usage (as root): tests/fresh_machine.sh [COMMAND...]      default: demo test
#
# The machine is a debootstrap chroot of this machine's own release, with the package sources that apt uses here (the
# security suite among them: bookworm has LLVM 22 nowhere else). What is committed is cloned into it. Its mounts live in
# a namespace of their own and end with it. BRAZE_FRESH names a folder to use and keep; otherwise it is temporary.
# BRAZE_FRESH_CCACHE names a compiler cache of this machine to share, for a quicker look: the clone lies where it lies here.
set -euo pipefail

root=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
commands=("$@")
((${#commands[@]})) || commands=(demo test)

((EUID == 0)) || { echo "run as root: debootstrap and chroot need it" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "please install debootstrap" >&2; exit 2; }
[[ -z $(git -C "$root" status --porcelain) ]] || echo "note: only what is committed is tested" >&2

# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  awk -v c="$codename" '$2 ~ "^" c "(-updates|-security)?$" && !seen[$0]++')
mirror=$(awk -v c="$codename" '$2 == c { print $1; exit }' <<<"$sources")

machine=${BRAZE_FRESH:-$(mktemp -d /var/tmp/braze-fresh.XXXXXX)}
[[ -n ${BRAZE_FRESH:-} ]] || trap 'rm -rf --one-file-system "$machine"' EXIT

if [[ ! -e $machine/etc/debian_version ]]; then
  echo "---- debootstrap $codename"
  mkdir -p "$machine"
  debootstrap --variant=minbase --include=git,ca-certificates "$codename" "$machine" "$mirror" >"$machine.log" 2>&1 ||
    { tail -n 20 "$machine.log" >&2; exit 1; }
  rm -f "$machine.log"
  echo force-unsafe-io >"$machine/etc/dpkg/dpkg.cfg.d/throw-away"  # nobody mourns it after a power cut
  awk '{ print "deb", $1, $2, $3 }' <<<"$sources" >"$machine/etc/apt/sources.list"
fi
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
# How this machine reaches PyPI: its certificates and pip's settings, where it has any of its own.
cp -L /etc/ssl/certs/ca-certificates.crt "$machine/etc/ssl/certs/"
[[ ! -e /etc/pip.conf ]] || cp -L /etc/pip.conf "$machine/etc/"

rm -rf --one-file-system "${machine:?}/$root" "$machine/root/braze.bundle"
mkdir -p "$machine/root/.cache/ccache" "$machine/$(dirname "$root")"
git -C "$root" bundle create -q "$machine/root/braze.bundle" HEAD

cat >"$machine/root/prove.sh" <<'INSIDE'
set -euo pipefail
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm 2>/dev/null || true
cd /root
root=$1
shift
git -c advice.detachedHead=false clone -q braze.bundle "$root"
cd "$root"
for command in "$@"; do
  echo "---- ./dev $command"
  SECONDS=0
  ./dev "$command" </dev/null
  echo "---- ./dev $command took $SECONDS s"
done
# The second time there is nothing to install and nothing to build.
touch /root/stamp
./dev build </dev/null
again=$(find build -newer /root/stamp \( -name '*.o' -o -name '*.a' -o -name '*.so*' \))
[[ -z $again ]] || { echo "built again: $again"; exit 1; }
INSIDE

# shellcheck disable=SC2016
unshare --mount --pid --fork bash -euc '
  machine=$1 cache=$2
  shift 2
  [[ -z $cache ]] || mount --bind "$cache" "$machine/root/.cache/ccache"
  exec chroot "$machine" "$@"
' bash "$machine" "${BRAZE_FRESH_CCACHE:-}" /usr/bin/env -i \
  HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  /bin/bash /root/prove.sh "$root" "${commands[@]}"
echo "fresh machine: ${commands[*]} ok"
