#!/bin/sh
# Puts Bellwether into the home of who runs it, or into the folder given:
#
#     ./install.sh             # ~/.local
#     ./install.sh /usr/local  # as root, for everybody
#
# Menu entry and unit then name the program by its whole path: desktops start
# menus without ~/.local/bin in PATH, and would show no entry. It may be run
# again, for an update, over a Bellwether that runs.
set -eu
from=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
to=${1:-${HOME:?names no folder; name one: ./install.sh /where}/.local}
case $to in
/*) ;;
*) to=$PWD/$to ;;
esac
case $to in
*[\"\`\$\\%\|\&]*)
    echo "install.sh: menu entries and units cannot name a program below $to, for a character in it. Choose another folder: ./install.sh /where" >&2
    exit 1
    ;;
esac
mkdir -p -- "$to"
to=$(CDPATH= cd -- "$to" && pwd)
[ "$from" != "$to" ] || { echo "install.sh: it is run from the folder it would install to; unpack the archive elsewhere" >&2; exit 1; }
for part in bin lib share; do
    # -f: a program that runs is not written over, but replaced.
    [ ! -d "$from/$part" ] || cp -Rf -- "$from/$part" "$to/"
done

# name FILE: have lines of FILE name the program by its path, in quotes for a
# blank in it; TryExec takes a path as it is.
name() {
    sed -e "s|^Exec=bellwether|Exec=\"$to/bin/bellwether\"|" \
        -e "s|^TryExec=.*|TryExec=$to/bin/bellwether|" \
        -e "s|^ExecStart=[^ ]*|ExecStart=\"$to/bin/bellwether\"|" "$from/$1" >"$to/$1.new"
    mv -f -- "$to/$1.new" "$to/$1"
}
name share/applications/bellwether.desktop
name share/systemd/user/bellwether.service

echo "Bellwether is in $to. It is in the menu, or start it by: $to/bin/bellwether"
case :$PATH: in
*:"$to/bin":*) ;;
*) echo "To call it by its name in a terminal, have $to/bin in PATH; many systems do at the next login." ;;
esac
