#!/bin/sh
# Who reaches a metadata address through a machine with these rules: a pod behind it, root on it, nobody on it.
# Usage, as root: unshare --net --mount sh netns.sh RULES. RULES include /etc/curfew/metadata-guard.d/*.nft.
# Prints a line a question: WHEN WHO ADDRESS yes|no. This machine's own networks and files are not touched.
set -eu
rules=$1
mount --make-rprivate /
mount -t tmpfs none /run
mkdir /run/curfew /run/curfew/work /run/curfew/up
mount -t overlay none -o "lowerdir=/etc,upperdir=/run/curfew/up,workdir=/run/curfew/work" /etc
mkdir -p /etc/curfew/metadata-guard.d
cp "$rules" /etc/curfew/metadata-guard.nft

ip netns add pod
ip netns add cloud
ip link set lo up
ip link add to-pod type veth peer name eth0 netns pod
ip link add to-cloud type veth peer name eth0 netns cloud
ip addr add 10.42.0.1/24 dev to-pod
ip addr add fd42::1/64 dev to-pod nodad
ip addr add 10.1.0.1/24 dev to-cloud
ip addr add fd01::1/64 dev to-cloud nodad
ip link set to-pod up
ip link set to-cloud up
ip -n pod addr add 10.42.0.2/24 dev eth0
ip -n pod addr add fd42::2/64 dev eth0 nodad
ip -n pod link set eth0 up
ip -n pod route add default via 10.42.0.1
ip -n pod route add default via fd42::1
ip -n cloud link set lo up
for address in 10.1.0.2/24 169.254.169.254/32; do ip -n cloud addr add $address dev eth0; done
for address in fd01::2/64 fd00:ec2::254/128 fe80::a9fe:a9fe/64; do ip -n cloud addr add $address dev eth0 nodad; done
ip -n cloud link set eth0 up
ip -n cloud route add default via 10.1.0.1
ip -n cloud route add default via fd01::1
ip route add 169.254.169.254 via 10.1.0.2
ip route add fd00:ec2::254 via fd01::2
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding

ip netns exec cloud python3 -m http.server --bind :: 80 >/dev/null 2>&1 &
service=$!
trap 'kill $service' EXIT

# Asks as this user, and says of each address whether it answered.
cat >/run/ask.py <<'PY'
import os, socket, sys
when, who, user, *addresses = sys.argv[1:]
kind = dict(type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
found = [socket.getaddrinfo(address, 80, **kind)[0] for address in addresses]
os.setuid(int(user))
for address, (family, *_, to) in zip(addresses, found):
    connection = socket.socket(family)
    connection.settimeout(3)
    try:
        connection.connect(to)
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answered = connection.recv(16).startswith(b"HTTP/")
    except OSError:
        answered = False
    print(when, who, address, "yes" if answered else "no")
PY
here="169.254.169.254 fd00:ec2::254 fe80::a9fe:a9fe%to-cloud 10.1.0.2"
until python3 /run/ask.py x x 0 10.1.0.2 | grep -q yes; do sleep 0.1; done

# shellcheck disable=SC2086 # addresses are words
look() {
	ip netns exec pod python3 /run/ask.py "$1" pod 0 169.254.169.254 fd00:ec2::254 10.1.0.2 fd01::2
	python3 /run/ask.py "$1" root 0 $here
	python3 /run/ask.py "$1" nobody 65534 $here
}

load() { nft -f /etc/curfew/metadata-guard.nft; }

look before
nft add table inet others
load
look guarded
load
load
echo "reloaded tables $(nft list tables | wc -l)"
echo "reloaded rules $(nft list table inet curfew_metadata_guard | grep -c jump)"
echo 'add element inet curfew_metadata_guard allowed_pods4 { 10.42.0.2 }' >/etc/curfew/metadata-guard.d/csi.nft
echo 'add element inet curfew_metadata_guard allowed_users { 65534 }' >/etc/curfew/metadata-guard.d/user.nft
load
look allowed
rm /etc/curfew/metadata-guard.d/*
load
look again
echo 'nonsense' >/etc/curfew/metadata-guard.d/wrong.nft
load 2>/dev/null && echo 'wrong file loaded'
look wrong
rm /etc/curfew/metadata-guard.d/wrong.nft
nft delete table inet curfew_metadata_guard
look gone
