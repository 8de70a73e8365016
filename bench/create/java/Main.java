/** Create and join of virtual threads, a batch at a time. */
final class Main {
    public static void main(String[] arguments) {
        var measure = new Measure(arguments);
        int count = measure.number("count"), batch = measure.number("batch");
        measure.time(count, () -> {
            try {
                return created(count, batch);
            } catch (InterruptedException why) {
                throw new IllegalStateException(why);
            }
        });
    }

    private static long created(int count, int batch) throws InterruptedException {
        var threads = new Thread[batch];
        var results = new long[batch];
        long sum = 0;
        for (int first = 0; first < count; first += batch) {
            for (int place = 0; place < batch; place++) {
                int at = place, index = first + place;
                threads[place] = Thread.startVirtualThread(() -> results[at] = index);
            }
            for (int place = 0; place < batch; place++) {
                threads[place].join();
                sum += results[place];
            }
        }
        return sum;
    }
}
