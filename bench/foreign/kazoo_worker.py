"""Measures kazoo's recipes.

Arguments: the directory of kazoo, the servers, and for TLS the files of the
authority's certificate and of the client's certificate and key. Every case is a
line of the input. The worker answers with a line when it is ready for it, begins with the
next line of the input, and answers with what came of it, all in JSON.
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

CONNECT_TIMEOUT = 10.0  # seconds
TLS = dict(use_ssl=True, **dict(zip(("ca", "certfile", "keyfile"), sys.argv[3:]))) if sys.argv[3:] else {}


class Key:
    """A key that locks are on."""

    def __init__(self, path, limit):
        self.path = path
        self.limit = limit  # how much may be held at a time
        self.held = 0
        self.guard = threading.Lock()
        self.released = 0  # when the latest release was called

    def take(self):
        with self.guard:
            self.held += 1
            if self.held > self.limit:
                raise RuntimeError("more hold the lock than may")

    def give(self):
        with self.guard:
            self.held -= 1


class Candidate:
    """A candidate, as a lock: to release is to resign. kazoo has a function run while
    it leads, so all is done where it is elected."""

    def __init__(self, client, key):
        self.election = client.Election(key.path)

    def lead(self, function):
        self.election.run(function)


def recipe(name, client, key):
    """Returns the recipe that a case is about."""
    if name == "semaphore":
        return client.Semaphore(key.path, max_leases=key.limit)
    if name == "readwrite":
        # A reader takes the last writer in line for the one ahead, also if that one
        # is behind it and waits for it.
        raise NotImplementedError("kazoo's ReadLock and WriteLock wait for each other for ever")
    if name in ("election", "lead", "follow"):
        return Candidate(client, key)
    return client.Lock(key.path)


class Contender(threading.Thread):
    """A thread with a lock of its own, and what it measured, in nanoseconds."""

    def __init__(self, name, number, clients, key):
        super().__init__(daemon=True)
        self.number = number % len(clients)  # of the client
        self.lock = recipe(name, clients[self.number], key)
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

    def ended(self, timeout):
        """Waits until all is done, or the timeout."""
        self.join(timeout)
        return not self.is_alive()

    def lock_and_unlock(self):
        asked = time.monotonic_ns()
        if isinstance(self.lock, Candidate):
            self.lock.lead(lambda: (self.key.take(), self.key.give()))
            self.finished = time.monotonic_ns()
            self.latencies.append(self.finished - asked)
            return
        self.lock.acquire()
        held = time.monotonic_ns()
        # Else this thread was not there when the lock was released, and what
        # has passed since is no handoff.
        if asked < self.key.released:
            self.handoffs.append(held - self.key.released)
        self.key.take()
        self.key.released = held
        self.key.give()
        self.lock.release()
        self.finished = time.monotonic_ns()
        self.latencies.append(self.finished - asked)


class Looper(Contender):
    """Locks and unlocks again and again once all others are ready too."""

    def __init__(self, name, number, clients, key, everybody, seconds):
        super().__init__(name, number, clients, key)
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


class Leader(Contender):
    """Is elected, and leads for good."""

    def __init__(self, *args):
        super().__init__(*args)
        self.elected = threading.Event()

    def work(self):
        self.lock.lead(self.leads)

    def leads(self):
        self.at = time.time_ns() // 1000
        self.elected.set()
        threading.Event().wait()

    def ended(self, timeout):
        return self.elected.wait(timeout)


every = {}  # by the timeout of sessions: clients, kept for later cases, and the events of their connections


def connect(session, count):
    opened = every.setdefault(session, [])
    servers = sys.argv[2].split(",")
    while len(opened) < count:
        # It tries to connect every second for as long as need be.
        retry = KazooRetry(max_tries=-1, delay=1, backoff=1)
        home = servers[len(opened) % len(servers)]  # as those of the other sides
        client = KazooClient(home, timeout=session / 1000, connection_retry=retry, **TLS)
        opened.append((client, client.start_async()))
    for _, connected in opened[:count]:
        if not connected.wait(CONNECT_TIMEOUT):
            raise TimeoutError("no connection to " + sys.argv[2])
    return [client for client, _ in opened[:count]]


def loop(name, clients, keys, seconds):
    """Has a thread for every client or every key, whichever are more."""
    count = max(len(clients), len(keys))
    everybody = threading.Barrier(count)
    return [Looper(name, i, clients, keys[i % len(keys)], everybody, seconds) for i in range(count)]


def drain(clients, key, count, ready):
    """Has waiters stand in the queue behind a lock, which is then released."""
    holder = clients[0].Lock(key.path)
    holder.acquire()
    waiters = [Waiter("drain", i, clients, key) for i in range(count)]
    for waiter in waiters:
        waiter.start()
    # Each of them watches the one before it, and nothing else is watched.
    while sum(len(client._data_watchers) for client in clients) < count:
        for waiter in waiters:
            if waiter.error:
                raise waiter.error
        time.sleep(0.005)
    ready()
    key.released = time.monotonic_ns()
    for waiter in waiters:
        waiter.started = key.released
    holder.release()
    return waiters


left = []  # a client, and what it has left in the store


def tidy():
    """Removes what the case before has left: not at the end of that, where it would be counted."""
    while left:
        client, root = left.pop()
        if client.exists(root):
            client.delete(root, recursive=True)


def measure(case, ready):
    """Does a case; ready tells that it is prepared, and waits until it is to begin."""
    name, root = case["name"], case["path"]
    elects = name in ("lead", "follow")
    tidy()
    clients = connect(case["session"], case["clients"])
    if not elects:
        left.append((clients[0], root))
    keys = [Key("%s/%d" % (root, i), case["limit"]) for i in range(case["keys"])]
    for key in keys:
        clients[0].ensure_path(key.path)
    if name == "drain":
        contenders = drain(clients, keys[0], case["waiters"], ready)
    else:
        if elects:
            contenders = [Leader(name, i, clients, key) for i, key in enumerate(keys)]
        else:
            contenders = loop(name, clients, keys, case["seconds"])
        ready()
        for contender in contenders:
            contender.start()
            if name == "lead":
                # Within a timeout, so that some have just kept their sessions alive
                # and some are about to when they are killed.
                time.sleep(case["session"] / 1000 / len(contenders))
    for contender in contenders:
        over = False
        while not over:
            over = contender.ended(0.1)
            for other in contenders:  # whoever waits may wait for one who has failed
                if other.error:
                    raise other.error
    if elects:
        return {"electedMicros": [leader.at for leader in contenders]}
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

    def ready():
        print(json.dumps({"ready": True}), flush=True)
        cases.get()

    while True:
        print(json.dumps(answer), flush=True)
        try:
            answer = measure(json.loads(cases.get()), ready)
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, e)}


main()
