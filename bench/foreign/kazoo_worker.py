"""Measures kazoo's Lock.

Arguments: the directory of kazoo, and the servers. Every line of the input is a
case, every line of the output what came of it, both in JSON.
"""
import json
import os
import platform
import queue
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])

from kazoo.client import KazooClient
from kazoo.retry import KazooRetry
from kazoo.version import __version__

SESSION_TIMEOUT = 10.0  # seconds


class Key:
    """A key that locks are on."""

    def __init__(self, path):
        self.path = path
        self.released = 0  # when the latest release was called


class Contender(threading.Thread):
    """A thread with a lock of its own, and what it measured, in nanoseconds."""

    def __init__(self, number, client, key):
        super().__init__(daemon=True)
        self.number = number  # of the client
        self.lock = client.Lock(key.path)
        self.key = key
        self.latencies, self.handoffs = [], []
        self.started = None  # when the work was
        self.finished = None  # when the last release had returned
        self.error = None

    def run(self):
        try:
            self.work()
        except BaseException as e:  # the main thread raises it
            self.error = e

    def lock_and_unlock(self):
        asked = time.monotonic_ns()
        self.lock.acquire()
        held = time.monotonic_ns()
        # Else this thread was not there when the lock was released, and what
        # has passed since is no handoff.
        if asked < self.key.released:
            self.handoffs.append(held - self.key.released)
        self.key.released = held
        self.lock.release()
        self.finished = time.monotonic_ns()
        self.latencies.append(self.finished - asked)


class Looper(Contender):
    """Locks and unlocks again and again once all others are ready too."""

    def __init__(self, number, client, key, everybody, seconds):
        super().__init__(number, client, key)
        self.everybody = everybody
        self.seconds = seconds

    def work(self):
        self.everybody.wait()
        self.started = time.monotonic_ns()
        while time.monotonic_ns() - self.started < self.seconds * 1e9:
            self.lock_and_unlock()


class Waiter(Contender):
    """Locks and unlocks once, and has waited for the lock."""

    work = Contender.lock_and_unlock


opened = []  # clients, kept for later cases, and the events of their connections


def connect(count):
    while len(opened) < count:
        # It tries to connect every second for as long as need be.
        retry = KazooRetry(max_tries=-1, delay=1, backoff=1)
        client = KazooClient(sys.argv[2], timeout=SESSION_TIMEOUT, connection_retry=retry)
        opened.append((client, client.start_async()))
    for _, connected in opened[:count]:
        if not connected.wait(SESSION_TIMEOUT):
            raise TimeoutError("no connection to " + sys.argv[2])
    return [client for client, _ in opened[:count]]


def loop(clients, keys, seconds):
    """Has a thread for every client or every key, whichever are more."""
    count = max(len(clients), len(keys))
    everybody = threading.Barrier(count)
    loopers = [
        Looper(i % len(clients), clients[i % len(clients)], keys[i % len(keys)], everybody, seconds)
        for i in range(count)
    ]
    for looper in loopers:
        looper.start()
    return loopers


def drain(clients, key, count):
    """Has waiters stand in the queue behind a lock, which is then released."""
    holder = clients[0].Lock(key.path)
    holder.acquire()
    waiters = [Waiter(i % len(clients), clients[i % len(clients)], key) for i in range(count)]
    for waiter in waiters:
        waiter.start()
    # Each of them watches the one before it, and nothing else is watched.
    while sum(len(client._data_watchers) for client in clients) < count:
        for waiter in waiters:
            if waiter.error:
                raise waiter.error
        time.sleep(0.005)
    key.released = time.monotonic_ns()
    for waiter in waiters:
        waiter.started = key.released
    holder.release()
    return waiters


def measure(case):
    name, root = case["name"], case["path"]
    clients = connect(case["clients"])
    keys = [Key("%s/%d" % (root, i)) for i in range(case["keys"])]
    for key in keys:
        clients[0].ensure_path(key.path)
    if name == "drain":
        contenders = drain(clients, keys[0], case["waiters"])
    else:
        contenders = loop(clients, keys, case["seconds"])
    for contender in contenders:
        contender.join()
        if contender.error:
            raise contender.error
    clients[0].delete(root, recursive=True)
    ops = [0] * len(clients)
    for contender in contenders:
        ops[contender.number] += len(contender.latencies)
    return {
        "ops": sum(ops),
        "seconds": (max(c.finished for c in contenders) - min(c.started for c in contenders)) / 1e9,
        # A waiter's latency is for the most part how early it was started.
        "latenciesMicros": [] if name == "drain" else [t // 1000 for c in contenders for t in c.latencies],
        "handoffMicros": [t // 1000 for c in contenders for t in c.handoffs],
        "perClientOps": ops,
    }


def read(cases):
    """Passes cases on, and ends the program, whatever it does, with its input."""
    for line in sys.stdin:
        cases.put(line)
    os._exit(0)


def main():
    # Room for a thousand waiters; the usual 8 MiB each may be more than there is.
    threading.stack_size(512 * 1024)
    cases = queue.Queue()
    threading.Thread(target=read, args=[cases], daemon=True).start()
    answer = {"version": "kazoo %s, Python %s" % (__version__, platform.python_version())}
    while True:
        print(json.dumps(answer), flush=True)
        try:
            answer = measure(json.loads(cases.get()))
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, e)}


main()
