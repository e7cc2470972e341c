import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;

/**
 * Measures Curator's recipes. Arguments: the servers, and the version. Every case
 * is a line of the input. The worker answers with a line when it is ready for
 * it, begins with the next line of the input, and answers with what came of it,
 * all in JSON.
 */
public class CuratorWorker {
    static final int TIMEOUT = 10_000; // of connections, in milliseconds

    /** A key that locks are on. */
    static class Key {
        final String path;
        final int limit; // how much may be held at a time
        final AtomicInteger held = new AtomicInteger();
        volatile long released = System.nanoTime(); // when the latest release was called

        Key(String path, int limit) {
            this.path = path;
            this.limit = limit;
        }

        void take(int weight) throws Exception {
            if (held.addAndGet(weight) > limit) throw new Exception("more hold the lock than may");
        }
    }

    /** A recipe as one contender has it. */
    interface Lock {
        void acquire() throws Exception;

        void release() throws Exception;

        /** How much of the key is held. */
        default int weight() { return 1; }
    }

    /** Returns the recipe that a case is about. Contenders begin with another turn each. */
    static Lock lock(String name, CuratorFramework client, Key key, int turn) {
        switch (name) {
        case "semaphore":
            return new Permit(new InterProcessSemaphoreV2(client, key.path, key.limit));
        case "readwrite":
            return new Mixed(new InterProcessReadWriteLock(client, key.path), key.limit, turn);
        case "election":
        case "lead":
        case "follow":
            return new Candidate(client, key.path);
        }
        return new Exclusive(new InterProcessMutex(client, key.path));
    }

    static class Exclusive implements Lock {
        final InterProcessMutex mutex;

        Exclusive(InterProcessMutex mutex) { this.mutex = mutex; }

        @Override
        public void acquire() throws Exception { mutex.acquire(); }

        @Override
        public void release() throws Exception { mutex.release(); }
    }

    static class Permit implements Lock {
        final InterProcessSemaphoreV2 semaphore;
        Lease lease;

        Permit(InterProcessSemaphoreV2 semaphore) { this.semaphore = semaphore; }

        @Override
        public void acquire() throws Exception { lease = semaphore.acquire(); }

        @Override
        public void release() { semaphore.returnLease(lease); }
    }

    /** Nine readers and a writer in turn. A writer holds all there is. */
    static class Mixed implements Lock {
        final InterProcessReadWriteLock both;
        final int all;
        int turn;

        Mixed(InterProcessReadWriteLock both, int all, int turn) {
            this.both = both;
            this.all = all;
            this.turn = turn;
        }

        boolean writes() { return turn % 10 == 0; }

        InterProcessMutex now() { return writes() ? both.writeLock() : both.readLock(); }

        @Override
        public void acquire() throws Exception {
            turn++;
            now().acquire();
        }

        @Override
        public void release() throws Exception { now().release(); }

        @Override
        public int weight() { return writes() ? all : 1; }
    }

    /** To acquire is to be elected, to release is to resign. */
    static class Candidate implements Lock {
        final CuratorFramework client;
        final String path;
        LeaderLatch latch;

        Candidate(CuratorFramework client, String path) {
            this.client = client;
            this.path = path;
        }

        @Override
        public void acquire() throws Exception {
            latch = new LeaderLatch(client, path); // each can be used once
            latch.start();
            latch.await();
        }

        @Override
        public void release() throws Exception { latch.close(); }
    }

    /** What a thread is to do with its lock. */
    interface Work {
        void run(Contender contender) throws Exception;
    }

    /** A thread with a lock of its own, and what it measured, in nanoseconds. */
    static class Contender extends Thread {
        final int number; // of the client
        final Lock lock;
        final Key key;
        final Work work;
        final List<Long> latencies = new ArrayList<>(), handoffs = new ArrayList<>();
        long started; // when the work was
        long finished; // when the last release had returned
        long elected; // microseconds since 1970
        volatile Exception error;

        Contender(String name, int number, List<CuratorFramework> clients, Key key, Work work) {
            this.number = number % clients.size();
            this.lock = lock(name, clients.get(this.number), key, number);
            this.key = key;
            this.work = work;
        }

        @Override
        public void run() {
            try {
                work.run(this);
            } catch (Exception e) { // the main thread throws it
                error = e;
            }
        }

        void lockAndUnlock() throws Exception {
            long asked = System.nanoTime();
            lock.acquire();
            long held = System.nanoTime();
            // Else this thread was not there when the lock was released, and what
            // has passed since is no handoff.
            if (asked - key.released < 0) handoffs.add(held - key.released);
            int weight = lock.weight();
            key.take(weight);
            key.released = held;
            key.held.addAndGet(-weight);
            lock.release();
            finished = System.nanoTime();
            latencies.add(finished - asked);
        }

        void fail() throws Exception {
            if (error != null) throw error;
        }
    }

    /**
     * All clients, by the timeout of their sessions. They are kept for later cases, as
     * to close one takes a tenth of a second, for which it blocks the others.
     */
    static final Map<Integer, List<CuratorFramework>> opened = new HashMap<>();

    static List<CuratorFramework> connect(String servers, int session, int count) throws Exception {
        List<CuratorFramework> all = opened.computeIfAbsent(session, key -> new ArrayList<>());
        String[] each = servers.split(",");
        while (all.size() < count) {
            String home = each[all.size() % each.length]; // as those of the other sides
            CuratorFramework client = CuratorFrameworkFactory.newClient(home, session, TIMEOUT, new ExponentialBackoffRetry(100, 3));
            client.start();
            all.add(client);
        }
        for (CuratorFramework client : all.subList(0, count)) {
            if (!client.blockUntilConnected(TIMEOUT, TimeUnit.MILLISECONDS)) throw new Exception("no connection to " + servers);
        }
        return all.subList(0, count);
    }

    /** Has a thread for every client or every key, whichever are more. */
    static List<Contender> loop(String name, List<CuratorFramework> clients, List<Key> keys, double seconds) {
        List<Contender> loopers = new ArrayList<>();
        int count = Math.max(clients.size(), keys.size());
        CyclicBarrier everybody = new CyclicBarrier(count);
        for (int i = 0; i < count; i++) {
            loopers.add(new Contender(name, i, clients, keys.get(i % keys.size()), looper -> {
                everybody.await();
                looper.started = System.nanoTime();
                while (System.nanoTime() - looper.started < seconds * 1e9) looper.lockAndUnlock();
            }));
        }
        return loopers;
    }

    /** Has a client for every key be elected, and lead for good. */
    static List<Contender> elect(String name, List<CuratorFramework> clients, List<Key> keys) {
        List<Contender> candidates = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            candidates.add(new Contender(name, i, clients, keys.get(i), candidate -> {
                candidate.lock.acquire();
                candidate.elected = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
            }));
        }
        return candidates;
    }

    /** Has waiters stand in the queue behind a lock, which is then released. */
    static List<Contender> drain(List<CuratorFramework> clients, Key key, int count, Ready ready) throws Exception {
        InterProcessMutex holder = new InterProcessMutex(clients.get(0), key.path);
        holder.acquire();
        List<Contender> waiters = new ArrayList<>();
        for (int i = 0; i < count; i++) waiters.add(new Contender("drain", i, clients, key, Contender::lockAndUnlock));
        for (Contender waiter : waiters) waiter.start();
        // Each of them watches the one before it, and nothing else is watched.
        while (watches(clients) < count) {
            for (Contender waiter : waiters) waiter.fail();
            Thread.sleep(5);
        }
        ready.await();
        key.released = System.nanoTime();
        for (Contender waiter : waiters) waiter.started = key.released;
        holder.release();
        return waiters;
    }

    static int watches(List<CuratorFramework> clients) throws Exception {
        Method method = ZooKeeper.class.getDeclaredMethod("getDataWatches");
        method.setAccessible(true);
        int count = 0;
        for (CuratorFramework client : clients) {
            count += ((List<?>) method.invoke(client.getZookeeperClient().getZooKeeper())).size();
        }
        return count;
    }

    /** Tells that a case is prepared, and waits until it is to begin. */
    interface Ready {
        void await() throws Exception;
    }

    static CuratorFramework tidies; // what the case before has left in the store, or null
    static String left;

    /** Removes what the case before has left: not at the end of that, where it would be counted. */
    static void tidy() throws Exception {
        if (tidies != null && tidies.checkExists().forPath(left) != null) tidies.delete().deletingChildrenIfNeeded().forPath(left);
        tidies = null;
    }

    static String measure(String servers, String request, Ready ready) throws Exception {
        tidy();
        String name = field(request, "name"), root = field(request, "path");
        List<CuratorFramework> clients = connect(servers, number(request, "session"), number(request, "clients"));
        List<Key> keys = new ArrayList<>();
        for (int i = 0; i < number(request, "keys"); i++) {
            keys.add(new Key(root + "/" + i, number(request, "limit")));
            clients.get(0).create().orSetData().creatingParentsIfNeeded().forPath(keys.get(i).path);
        }
        boolean elects = name.equals("lead") || name.equals("follow");
        if (!elects) {
            tidies = clients.get(0);
            left = root;
        }
        List<Contender> contenders;
        if (name.equals("drain")) {
            contenders = drain(clients, keys.get(0), number(request, "waiters"), ready);
        } else {
            contenders = elects ? elect(name, clients, keys) : loop(name, clients, keys, Double.parseDouble(field(request, "seconds")));
            ready.await();
            for (Contender contender : contenders) {
                contender.start();
                // Within a timeout, so that some have just kept their sessions alive
                // and some are about to when they are killed.
                if (name.equals("lead")) Thread.sleep(number(request, "session") / contenders.size());
            }
        }
        for (Contender contender : contenders) {
            do { // whoever waits may wait for one who has failed
                contender.join(100);
                for (Contender other : contenders) other.fail();
            } while (contender.isAlive());
        }
        if (elects) {
            return "{\"electedMicros\":" + contenders.stream().map(c -> Long.toString(c.elected)).collect(Collectors.joining(",", "[", "]")) + "}";
        }
        return report(name, clients.size(), contenders);
    }

    static String report(String name, int clients, List<Contender> contenders) {
        List<Long> latencies = new ArrayList<>(), handoffs = new ArrayList<>();
        int[] ops = new int[clients];
        int sum = 0;
        long first = Long.MAX_VALUE, last = Long.MIN_VALUE;
        for (Contender contender : contenders) {
            // A waiter's latency is for the most part how early it was started.
            if (!name.equals("drain")) latencies.addAll(contender.latencies);
            handoffs.addAll(contender.handoffs);
            ops[contender.number] += contender.latencies.size();
            sum += contender.latencies.size();
            first = Math.min(first, contender.started);
            last = Math.max(last, contender.finished);
        }
        return "{\"ops\":" + sum + ",\"seconds\":" + (last - first) / 1e9 + ",\"latenciesMicros\":" + micros(latencies)
            + ",\"handoffMicros\":" + micros(handoffs) + ",\"perClientOps\":" + Arrays.toString(ops) + "}";
    }

    static String micros(List<Long> nanos) {
        return nanos.stream().map(t -> Long.toString(t / 1000)).collect(Collectors.joining(",", "[", "]"));
    }

    static int number(String json, String name) { return Integer.parseInt(field(json, name)); }

    /** Returns a field of a JSON object that has nothing in it to be escaped. */
    static String field(String json, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        if (!matcher.find()) throw new IllegalArgumentException("no field " + name + " in " + json);
        return matcher.group(1);
    }

    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            out.append(c < ' ' || c == '"' || c == '\\' || c > '~' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return out.append('"').toString();
    }

    /** Passes cases on, and ends the program, whatever it does, with its input. */
    static void read(BlockingQueue<String> cases) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) cases.add(line);
        } catch (Exception e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(0);
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // whatever a library has to say is no answer
        BlockingQueue<String> cases = new LinkedBlockingQueue<>();
        new Thread(() -> read(cases)).start();
        String answer = "{\"version\":" + quote("Curator " + args[1] + ", Java " + System.getProperty("java.version")) + "}";
        while (true) {
            out.println(answer);
            try {
                answer = measure(args[0], cases.take(), () -> {
                    out.println("{\"ready\":true}");
                    cases.take();
                });
            } catch (Exception e) {
                answer = "{\"error\":" + quote(e.toString()) + "}";
            }
        }
    }
}
