import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.ArrayList;
import java.util.List;

/** The Transterpreter's replicated PAR on virtual threads: one for each packet, one for a branch of each inner PAR. */
final class Main {
    public static void main(String[] arguments) {
        var measure = new Measure(arguments);
        int packets = measure.number("packets"), rounds = measure.number("rounds"), grain = measure.number("grain");
        measure.time((long) packets * rounds, () -> replicated(packets, rounds, grain));
    }

    private static long replicated(int packets, int rounds, int grain) {
        try (var all = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Long>> sums = new ArrayList<>();
            for (int number = 0; number < packets; number++) {
                int packet = number;
                sums.add(all.submit(() -> one(packet, rounds, grain)));
            }
            long sum = 0;
            for (var each : sums) {
                sum += each.get();
            }
            return sum;
        } catch (InterruptedException | ExecutionException why) {
            throw new IllegalStateException(why);
        }
    }

    private static long one(int packet, int rounds, int grain) throws InterruptedException {
        var array = new int[grain];
        var channel = new SynchronousQueue<Integer>();
        long received = 0;
        for (int round = 0; round < rounds; round++) {
            var branch = Thread.startVirtualThread(() -> {
                work(array, packet);
                try {
                    channel.put(packet);
                } catch (InterruptedException why) {
                    throw new IllegalStateException(why);
                }
            });
            received += channel.take();
            branch.join();
        }
        for (int place : array) {
            received += place;
        }
        return received;
    }

    private static void work(int[] array, int packet) {
        for (int place = 0; place < array.length; place++) {
            array[place] += packet;
        }
    }
}
