#!/bin/sh
# After removing. The state of the system service goes with "purge" alone; what
# users have in their homes is theirs.
set -e
if [ "$1" = purge ]; then
    rm -rf "$DPKG_ROOT/var/lib/private/bellwether" "$DPKG_ROOT/var/lib/bellwether"
fi
[ -z "$DPKG_ROOT" ] || exit 0
[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
