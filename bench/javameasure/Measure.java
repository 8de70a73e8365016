import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/** raddle-measure's side in Java: arguments, calibrated repetition, samples as lines of JSON. */
final class Measure {
    private int samples = 3;
    private long runNsMin = 20_000_000L;
    private final Map<String, String> params = new HashMap<>();

    Measure(String[] arguments) {
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            String value = arguments[at + 1];
            switch (arguments[at]) {
                case "--samples" -> samples = Integer.parseInt(value);
                case "--run-ns" -> runNsMin = Long.parseLong(value);
                case "--params" -> {
                    for (String pair : value.split(",")) {
                        int equals = pair.indexOf('=');
                        params.put(pair.substring(0, equals), pair.substring(equals + 1));
                    }
                }
                default -> { } // --workers is the number of carriers, which the command line has set
            }
        }
    }

    int number(String name) {
        return Integer.parseInt(params.get(name));
    }

    /** Times body, which performs so many operations a call and returns their checksum. */
    void time(long operations, LongSupplier body) {
        long checksum = body.getAsLong();
        int calls = 1;
        // The compiler at run time needs its warm-up, too: at least two seconds of it.
        long begun = System.nanoTime();
        while (timed(calls, checksum, body) < runNsMin) {
            calls *= 2;
        }
        while (System.nanoTime() - begun < 2_000_000_000L) {
            timed(calls, checksum, body);
        }
        for (int sample = 0; sample < samples; sample++) {
            double ns = (double) timed(calls, checksum, body) / ((double) calls * operations);
            System.out.println("{\"ns_per_op\":" + ns + ",\"checksum\":\"" + Long.toUnsignedString(checksum)
                    + "\",\"extra\":{}}");
        }
    }

    private static long timed(int calls, long checksum, LongSupplier body) {
        long start = System.nanoTime();
        for (int call = 0; call < calls; call++) {
            long got = body.getAsLong();
            if (got != checksum) {
                System.err.println("the checksum was " + checksum + " in the first run and " + got + " in a later one");
                System.exit(1);
            }
        }
        return System.nanoTime() - start;
    }
}
