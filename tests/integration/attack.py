#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does to a daemon's socket what a user should not: attack.py WAY SECONDS unix:PATH|tcp:PORT [MUNGE-SOCKET].

Prints one JSON object that says what came of it; which daemon survives what is for the test to judge.
"""
import collections
import ctypes
import json
import os
import random
import selectors
import socket
import sys
import time

PATIENCE = 2.0


def connect(where):
    kind, _, at = where.partition(":")
    if kind == "unix":
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(PATIENCE)
        s.connect(at)
        return s
    return socket.create_connection(("127.0.0.1", int(at)), PATIENCE)


def messages():
    """Lines that a parser may stumble over, always the same."""
    r = random.Random(20)
    yield b"\n"
    yield b"\0" * 100 + b"\n"
    yield b"[" * 3000 + b"\n"
    yield b'{"op":' * 500 + b"\n"
    yield b'{"op":"status","op":"hold","seconds":1e999}\n'
    yield b'{"op":"hold","seconds":-1}\n'
    yield b'{"op":["status"]}\n'
    yield b'{"op":"\xff\xfe"}\n'
    yield b"MUNGE:\n"
    yield b"MUNGE:AwQFAAAAAAAA:\n"
    yield b"MUNGE:" + b"A" * 4000 + b":\n"
    for _ in range(200):
        yield bytes(r.randrange(256) for _ in range(r.randrange(400))).replace(b"\n", b"") + b"\n"


def malformed(where, seconds):
    """A connection for each, so that one that is closed hides no other."""
    sent = answered = turned_away = 0
    end = time.monotonic() + seconds
    for m in messages():
        while True:
            reply = b""
            try:
                with connect(where) as s:
                    try:
                        s.sendall(m)
                    except OSError:
                        pass  # turned away before, which is in the reply
                    reply = s.recv(65536)
            except OSError:
                pass
            # Turned away for asking too often: that line has not been tried yet.
            if b"too many" not in reply:
                break
            turned_away += 1
            time.sleep(0.2)
        sent += 1
        answered += bool(reply)
        if time.monotonic() > end:
            break
    return {"sent": sent, "answered": answered, "turned_away": turned_away}


def oversized(where, seconds):
    """A line without an end."""
    taken = 0
    end = time.monotonic() + seconds
    cut = False
    with connect(where) as s:
        try:
            while time.monotonic() < end:
                taken += s.send(b"x" * 65536)
        except OSError:
            cut = True
    return {"taken": taken, "cut_off": cut}


def slow(where, seconds):
    """Many connections that say a byte now and then."""
    held, refused = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        while len(held) < 600:
            try:
                held.append(connect(where))
            except OSError:
                refused += 1
                break
        time.sleep(0.3)
        for s in held[:]:
            try:
                s.send(b"{")
                s.setblocking(False)
                s.recv(4096)
                raise ConnectionError  # an answer, or the end: it is not waited for any more
            except BlockingIOError:
                pass
            except OSError:
                held.remove(s)
                s.close()
    return {"held": len(held), "refused": refused}


def deaf(where, seconds):
    """Asks and asks on one connection, and reads no answer."""
    line = b'{"op":"status"}\n' if where.startswith("unix") else b"MUNGE:x\n"
    sent = 0
    end = time.monotonic() + seconds
    with connect(where) as s:
        s.setblocking(False)
        while time.monotonic() < end:
            try:
                sent += s.send(line * 200) // len(line)
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:
                break
    return {"sent": sent}


def flood(where, seconds):
    """Comes and goes as fast as it can, with a question each time."""
    done = answered = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with connect(where) as s:
                s.sendall(b'{"op":"status"}\n')
                answered += b'"jobs"' in s.recv(65536)
        except OSError:
            pass
        done += 1
    return {"connections": done, "answered": answered}


def sealer():
    """Returns a function that makes a line with a valid credential of its own."""
    munge = ctypes.CDLL("libmunge.so.2")
    munge.munge_ctx_create.restype = ctypes.c_void_p
    context = ctypes.c_void_p(munge.munge_ctx_create())
    opt_socket = 8  # MUNGE_OPT_SOCKET
    if munge.munge_ctx_set(context, opt_socket, ctypes.c_char_p(sys.argv[4].encode())):
        sys.exit("libmunge does not take the socket")
    request = b'{"op":"status","nonce":"n"}'

    def seal():
        credential = ctypes.c_void_p()
        rc = munge.munge_encode(ctypes.byref(credential), context, request, len(request))
        if rc:
            sys.exit("munge_encode: error %d" % rc)
        line = ctypes.string_at(credential) + b"\n"
        ctypes.CDLL(None).free(credential)
        return line

    return seal


def sealed(where, seconds):
    """Asks with valid credentials on 500 connections, on each 5 requests ahead of the answers."""
    connections, ahead = 500, 5
    seal = sealer()
    lines = collections.deque(seal() for _ in range(connections * ahead))
    ready = selectors.DefaultSelector()
    for _ in range(connections):
        s = connect(where)
        s.sendall(b"".join(lines.popleft() for _ in range(ahead)))
        s.setblocking(False)
        ready.register(s, selectors.EVENT_READ)
    print("begun", os.getpid(), file=sys.stderr, flush=True)
    answered = closed = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in ready.select(0.1):
            try:
                got = key.fileobj.recv(65536)
                if not got:
                    raise ConnectionError
                answered += got.count(b"\n")
                key.fileobj.send(b"".join(seal() for _ in range(got.count(b"\n"))))
            except BlockingIOError:
                pass
            except OSError:
                ready.unregister(key.fileobj)
                closed += 1
    return {"connections": connections, "answered": answered, "closed": closed}


WAYS = {f.__name__: f for f in (malformed, oversized, slow, deaf, flood, sealed)}
if len(sys.argv) != 4 + (sys.argv[1:2] == ["sealed"]) or sys.argv[1] not in WAYS:
    sys.exit("Usage: attack.py %s SECONDS unix:PATH|tcp:PORT [MUNGE-SOCKET]" % "|".join(WAYS))
print(json.dumps(WAYS[sys.argv[1]](sys.argv[3], float(sys.argv[2]))))
