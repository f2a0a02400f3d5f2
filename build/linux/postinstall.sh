#!/bin/sh
# After installing: deb says "configure" and the former version, rpm the number
# of versions there are. Nothing is started that did not run.
set -e
[ -z "$DPKG_ROOT" ] || exit 0
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
if [ -n "$2" ] || [ "$1" -gt 1 ] 2>/dev/null; then
    systemctl try-restart bellwether.service || true
fi
