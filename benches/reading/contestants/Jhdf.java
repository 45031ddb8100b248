import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Array;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** jhdf, asked as the other contestants are; it has no choice of threads and always makes new arrays. */
public final class Jhdf {
    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String path = line.split("\t")[1];
            long start = System.nanoTime();
            double check = read(Path.of(path));
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.println(seconds + "\t" + check + "\t" + peakBytes());
        }
    }

    private static double read(Path path) {
        try (HdfFile file = new HdfFile(path)) {
            Dataset dataset = file.getDatasetByPath("/x");
            Object values = dataset.getData();
            if (values instanceof Map<?, ?> members) {
                Object first = members.values().iterator().next();
                return ((Number) Array.get(first, Array.getLength(first) / 2)).doubleValue();
            }
            int[] shape = dataset.getDimensions();
            Object row = values;
            for (int dimension = 0; dimension < shape.length - 1; dimension++) {
                row = Array.get(row, shape[dimension] / 2);
            }
            // The element in the middle of the flattened array.
            return ((Number) Array.get(row, shape.length == 1 ? shape[0] / 2 : 0)).doubleValue();
        }
    }

    private static long peakBytes() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IllegalStateException("no VmHWM");
    }
}
