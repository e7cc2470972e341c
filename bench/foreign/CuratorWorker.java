import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;

/**
 * Measures Curator's InterProcessMutex. Arguments: the servers, and the version.
 * Every line of the input is a case, every line of the output what came of it,
 * both in JSON.
 */
public class CuratorWorker {
    static final int TIMEOUT = 10_000; // of sessions and connections, in milliseconds

    /** A key that locks are on. */
    static class Key {
        final String path;
        volatile long released = System.nanoTime(); // when the latest release was called

        Key(String path) { this.path = path; }
    }

    /** What a thread is to do with its lock. */
    interface Work {
        void run(Contender contender) throws Exception;
    }

    /** A thread with a lock of its own, and what it measured, in nanoseconds. */
    static class Contender extends Thread {
        final int number; // of the client
        final InterProcessMutex lock;
        final Key key;
        final Work work;
        final List<Long> latencies = new ArrayList<>(), handoffs = new ArrayList<>();
        long started; // when the work was
        long finished; // when the last release had returned
        volatile Exception error;

        Contender(int number, List<CuratorFramework> clients, Key key, Work work) {
            this.number = number % clients.size();
            this.lock = new InterProcessMutex(clients.get(this.number), key.path);
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
            key.released = held;
            lock.release();
            finished = System.nanoTime();
            latencies.add(finished - asked);
        }

        void fail() throws Exception {
            if (error != null) throw error;
        }
    }

    /**
     * All clients. They are kept for later cases, as to close one takes a tenth of a
     * second, for which it blocks the others.
     */
    static final List<CuratorFramework> all = new ArrayList<>();

    static List<CuratorFramework> connect(String servers, int count) throws Exception {
        while (all.size() < count) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(servers, TIMEOUT, TIMEOUT, new ExponentialBackoffRetry(100, 3));
            client.start();
            all.add(client);
        }
        for (CuratorFramework client : all.subList(0, count)) {
            if (!client.blockUntilConnected(TIMEOUT, TimeUnit.MILLISECONDS)) throw new Exception("no connection to " + servers);
        }
        return all.subList(0, count);
    }

    /** Has a thread for every client or every key, whichever are more. */
    static List<Contender> loop(List<CuratorFramework> clients, List<Key> keys, double seconds) {
        List<Contender> loopers = new ArrayList<>();
        int count = Math.max(clients.size(), keys.size());
        CyclicBarrier everybody = new CyclicBarrier(count);
        for (int i = 0; i < count; i++) {
            loopers.add(new Contender(i, clients, keys.get(i % keys.size()), looper -> {
                everybody.await();
                looper.started = System.nanoTime();
                while (System.nanoTime() - looper.started < seconds * 1e9) looper.lockAndUnlock();
            }));
        }
        for (Contender looper : loopers) looper.start();
        return loopers;
    }

    /** Has waiters stand in the queue behind a lock, which is then released. */
    static List<Contender> drain(List<CuratorFramework> clients, Key key, int count) throws Exception {
        InterProcessMutex holder = new InterProcessMutex(clients.get(0), key.path);
        holder.acquire();
        List<Contender> waiters = new ArrayList<>();
        for (int i = 0; i < count; i++) waiters.add(new Contender(i, clients, key, Contender::lockAndUnlock));
        for (Contender waiter : waiters) waiter.start();
        // Each of them watches the one before it, and nothing else is watched.
        while (watches(clients) < count) {
            for (Contender waiter : waiters) waiter.fail();
            Thread.sleep(5);
        }
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

    static String measure(String servers, String request) throws Exception {
        String name = field(request, "name"), root = field(request, "path");
        List<CuratorFramework> clients = connect(servers, Integer.parseInt(field(request, "clients")));
        List<Key> keys = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(field(request, "keys")); i++) {
            keys.add(new Key(root + "/" + i));
            clients.get(0).create().creatingParentsIfNeeded().forPath(keys.get(i).path);
        }
        List<Contender> contenders = name.equals("drain")
            ? drain(clients, keys.get(0), Integer.parseInt(field(request, "waiters")))
            : loop(clients, keys, Double.parseDouble(field(request, "seconds")));
        for (Contender contender : contenders) {
            contender.join();
            contender.fail();
        }
        clients.get(0).delete().deletingChildrenIfNeeded().forPath(root);
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
                answer = measure(args[0], cases.take());
            } catch (Exception e) {
                answer = "{\"error\":" + quote(e.toString()) + "}";
            }
        }
    }
}
