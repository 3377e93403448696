"""Whoever has no business at a server's port, one function a kind. Each returns what it was told before it was put out,
and fails when it was not put out."""
import os
import selectors
import socket
import ssl
import struct
import subprocess
import time

PATIENCE = 30  # seconds until a server must have put a stranger out; it takes at most 5 for it
HELD = ("idle", "slow sender", "half a handshake")  # many at once, each until it is put out


class Target:
    """A port, and what is needed to come as far as a stranger can."""

    def __init__(self, port, frames, certs=None, others=None, recorded=b""):
        self.port = port
        self.frames = frames
        self.certs = certs  # of the job; None: the port speaks no TLS
        self.others = others  # of another authority
        self.recorded = recorded  # what a good peer has sent
        self.dialled = 0

    def dial(self, source=None):
        """From another address of the loopback every now and then: a server shuts sources out that fail too often."""
        self.dialled += 1
        number = self.dialled // 50
        end = socket.socket()
        end.settimeout(PATIENCE)
        end.bind((source or f"127.1.{1 + number // 250}.{1 + number % 250}", 0))
        end.connect(("127.0.0.1", self.port))
        return end

    def inside(self):
        """As far as somebody gets who has a certificate of the job, but no secret."""
        return wrapped(self.dial(), self.certs) if self.certs else self.dial()


def wrapped(end, certs=None, newest=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    if certs:
        context.load_cert_chain(f"{certs}/cert.pem", f"{certs}/key.pem")
    return context.wrap_socket(end)


def rest(end):
    """All that is said until the other side closes."""
    heard = b""
    try:
        while more := end.recv(65536):
            heard += more
    except (ssl.SSLError, ConnectionError):
        pass
    except TimeoutError:
        raise AssertionError(f"a stranger was not put out for {PATIENCE} s; it heard {heard[:200]}") from None
    return heard


def say(end, words):
    """Says it, and listens until it is put out."""
    with end:
        try:
            end.sendall(words)
        except (ssl.SSLError, ConnectionError):
            pass  # it has been put out already
        return rest(end)


def say_in_tls(target, certs, newest=ssl.TLSVersion.TLSv1_3):
    end = target.dial()
    try:
        return say(wrapped(end, certs, newest), target.frames["introduce"])
    except (ssl.SSLError, ConnectionError):
        return b""
    finally:
        end.close()


# --- the kinds ---


def http(target):
    return say(target.dial(), b"GET /secret HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n" + bytes(200))


def random_bytes(target):
    return say(target.dial(), os.urandom(512))


def random_bytes_inside(target):
    return say(target.inside(), os.urandom(512))


def no_certificate(target):
    return say_in_tls(target, None)


def other_authority(target):
    return say_in_tls(target, target.others)


def old_tls(target):
    return say_in_tls(target, target.certs, ssl.TLSVersion.TLSv1_2)


def wrong_version(target):
    frame = bytearray(target.frames["introduce"])
    frame[4:6] = struct.pack("<H", 999)
    return say(target.inside(), bytes(frame))


def wrong_secret(target):
    return say(target.inside(), target.frames["introduce"] + target.frames["prove"])


def message_first(target):
    return say(target.inside(), target.frames["message"])


def endless_payload(target):
    return say(target.inside(), target.frames["endless_payload"])


def endless_control(target):
    return say(target.inside(), target.frames["endless_control"])


def replayed(target):
    return say(target.dial(), target.recorded)


def too_often(target):
    return say(target.dial("127.2.0.1"), bytes(200))


def reset(target):
    with target.dial() as end:
        end.sendall(target.frames["introduce"][:32])
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return b""


KINDS = {"plain HTTP": http, "random bytes": random_bytes, "wrong version": wrong_version, "wrong secret": wrong_secret,
         "replayed handshake": replayed, "a message first": message_first, "a payload of 2^63 bytes": endless_payload,
         "a control part of 2^32 bytes": endless_control, "reset in the middle": reset}
KINDS_IN_TLS = {"TLS without a certificate": no_certificate, "a certificate of another CA": other_authority,
                "TLS 1.2": old_tls, "random bytes inside TLS": random_bytes_inside}


def held(target, kind, count, meanwhile=lambda: None):
    """`count` at once that dally; calls `meanwhile` when they are all there. What each was told."""
    ends = {}
    heard = []
    waiting = selectors.DefaultSelector()
    for _ in range(count):
        try:
            end = target.inside() if kind == "half a handshake" else target.dial()
            if kind == "half a handshake":
                end.sendall(target.frames["introduce"])
        except (ssl.SSLError, ConnectionError):  # there were too many already
            heard.append(b"")
            continue
        end.setblocking(False)
        ends[end] = b""
        waiting.register(end, selectors.EVENT_READ)
    meanwhile()
    words = target.recorded  # a byte a second
    sent = 0
    give_up = time.monotonic() + PATIENCE
    while ends:
        if time.monotonic() > give_up:
            raise AssertionError(f"{len(ends)} of {count} ({kind}) were not put out for {PATIENCE} s")
        if kind == "slow sender" and sent < len(words):
            for end in ends:
                try:
                    end.send(words[sent:sent + 1])
                except OSError:
                    pass  # it has been put out; reading says so
            sent += 1
        second = time.monotonic() + 1
        while ends and (left := second - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                end = key.fileobj
                try:
                    more = end.recv(65536)
                except (ssl.SSLWantReadError, BlockingIOError):
                    continue
                except OSError:
                    more = b""
                if more:
                    ends[end] += more
                    continue
                waiting.unregister(end)
                heard.append(ends.pop(end))
                end.close()
    return heard


# --- good ones ---


def record(port, dial_through):
    """The bytes that a good peer sends: it is given the port of a go-between that writes them down."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(PATIENCE)
        peer = dial_through(door.getsockname()[1])
        near, _ = door.accept()
    sent = b""
    with near, socket.create_connection(("127.0.0.1", port)) as far, selectors.DefaultSelector() as waiting:
        waiting.register(near, selectors.EVENT_READ, far)
        waiting.register(far, selectors.EVENT_READ, near)
        going = True
        while going:
            ready = waiting.select(PATIENCE)
            assert ready, "a good peer says nothing more"
            for key, _ in ready:
                try:
                    more = key.fileobj.recv(65536)
                    if more:
                        key.data.sendall(more)
                except OSError:
                    more = b""
                going = going and bool(more)
                if key.fileobj is near:
                    sent += more
    peer.wait(PATIENCE)
    return sent


def frames_of(program):
    """The frames that a stranger sends, by name."""
    text = subprocess.run([program, "frames"], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    return {name: bytes.fromhex(digits) for name, digits in (line.split() for line in text.splitlines())}


def let_in(heard):
    """Was more said than a challenge or a refusal (or TLS's own alerts)?"""
    while heard.startswith(b"YOKE"):
        if heard[6] not in (6, 8):
            return True
        control, = struct.unpack_from("<I", heard, 32)
        payload, = struct.unpack_from("<Q", heard, 48)
        heard = heard[64 + control + payload + 8:]
    return bool(heard) and heard[0] not in (21, 22)
