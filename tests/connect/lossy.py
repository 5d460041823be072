"""A network that loses packets: namespaces of the kernel, and a switch between them.

Every namespace has one device, whose packets come to the switch, a process that hands
them on or drops them. No module of the kernel is needed for that beyond /dev/net/tun.
Run as a program, this file is the switch:

    python tests/connect/lossy.py LOSS SEED FD:LAST_BYTE_OF_ADDRESS ...
"""

import ctypes
import fcntl
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import threading

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
NETWORK = "10.77.0"
DEVICE = "gf0"


class CannotMakeError(Exception):
    """Why there is no such network here."""


def ip(*words):
    done = subprocess.run(
        ["ip", *words], capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode:
        raise CannotMakeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """Some namespaces, 10.77.0.1 and so on, with packets lost between them."""

    def __init__(self, num_places, *, loss, seed=0):
        if sys.platform != "linux" or os.geteuid() != 0:
            raise CannotMakeError("only root of a Linux makes network namespaces")
        if shutil.which("ip") is None:
            raise CannotMakeError("there is no command ip (iproute2)")
        self.names = [f"gf-{os.getpid()}-{k}" for k in range(num_places)]
        self._fds = []
        self._made = []
        self._switch = None
        try:
            for k, name in enumerate(self.names):
                self._add(k, name)
            ends = [f"{fd}:{k + 1}" for k, fd in enumerate(self._fds)]
            self._switch = subprocess.Popen(
                [sys.executable, __file__, str(loss), str(seed), *ends],
                pass_fds=self._fds,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        except (CannotMakeError, OSError) as error:
            self.close()
            raise CannotMakeError(str(error)) from error

    def _add(self, k, name):
        ip("netns", "add", name)
        self._made.append(name)
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self._fds.append(fd)
        device = f"gf{os.getpid() % 10**6}x{k}"
        form = struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI)
        fcntl.ioctl(fd, TUNSETIFF, form)
        ip("link", "set", device, "netns", name)
        ip("-n", name, "link", "set", device, "name", DEVICE)
        ip("-n", name, "address", "add", f"{self.address(k)}/24", "dev", DEVICE)
        ip("-n", name, "link", "set", "lo", "up")
        self.set_up(k, True)

    def address(self, place):
        return f"{NETWORK}.{place + 1}"

    def set_up(self, place, is_up):
        """Plug a place in, or out."""
        state = "up" if is_up else "down"
        ip("-n", self.names[place], "link", "set", DEVICE, state)

    def within(self, place):
        """Return the words before a command that is to run in a place."""
        return ("ip", "netns", "exec", self.names[place])

    def inside(self, place, work):
        """Do some work in a place, in a thread: namespaces are of threads."""
        came = []

        def run():
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                fd = os.open(f"/run/netns/{self.names[place]}", os.O_RDONLY)
                try:
                    if libc.setns(fd, CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), "setns")
                finally:
                    os.close(fd)
                came.append((work(), None))
            except BaseException as error:
                came.append((None, error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        value, error = came[0]
        if error is not None:
            raise error
        return value

    def close(self):
        """Take everything away; return how many packets came and were lost."""
        said = "{}"
        if self._switch is not None:
            said, _ = self._switch.communicate(timeout=30)
        for name in self._made:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=30)
        for fd in self._fds:
            os.close(fd)
        self._made, self._fds, self._switch = [], [], None
        return json.loads(said)


def switch(loss, seed, ends):
    """Hand packets on until standard input is closed, and say how many."""
    chance = random.Random(seed)
    by_last = {last: fd for fd, last in ends}
    counts = {"came": 0, "lost": 0}
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    for fd in by_last.values():
        poll.register(fd, select.POLLIN)
    while True:
        for fd, event in poll.poll():
            if fd == 0:
                print(json.dumps(counts))
                return
            if not event & select.POLLIN:
                continue
            try:
                packet = os.read(fd, 65536)
            except OSError:
                continue
            # IPv4 alone; its destination is bytes 16 to 19.
            to = by_last.get(packet[19]) if packet[:1] == b"\x45" else None
            if to is None:
                continue
            counts["came"] += 1
            if chance.random() < loss:
                counts["lost"] += 1
                continue
            try:
                os.write(to, packet)
            except OSError:
                counts["lost"] += 1  # that end is unplugged


if __name__ == "__main__":
    switch(
        float(sys.argv[1]),
        int(sys.argv[2]),
        [tuple(map(int, word.split(":"))) for word in sys.argv[3:]],
    )
