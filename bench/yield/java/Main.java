/** Virtual threads that only yield. */
final class Main {
    public static void main(String[] arguments) {
        var measure = new Measure(arguments);
        int processes = measure.number("processes"), rounds = measure.number("rounds");
        measure.time((long) processes * rounds, () -> {
            try {
                return yields(processes, rounds);
            } catch (InterruptedException why) {
                throw new IllegalStateException(why);
            }
        });
    }

    private static long yields(int processes, int rounds) throws InterruptedException {
        var threads = new Thread[processes];
        var results = new long[processes];
        for (int number = 0; number < processes; number++) {
            int at = number;
            threads[number] = Thread.startVirtualThread(() -> {
                for (int round = 0; round < rounds; round++) {
                    Thread.yield();
                }
                results[at] = rounds;
            });
        }
        long sum = 0;
        for (int number = 0; number < processes; number++) {
            threads[number].join();
            sum += results[number];
        }
        return sum;
    }
}
