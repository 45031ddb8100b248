package io.hyperslab.spark.hadoop;

import io.hyperslab.IoException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;

/** A temporary folder among Spark's local ones, which Spark removes if the process is killed. */
public final class LocalFolder implements AutoCloseable {
  /** The folder. */
  public final Path path;

  /** Creates a folder. */
  public LocalFolder() {
    String[] roots = SparkEnv.get().blockManager().diskBlockManager().localDirsString();
    Path root = Paths.get(roots[ThreadLocalRandom.current().nextInt(roots.length)]);
    try {
      path = Files.createTempDirectory(root, "hyperslab-");
    } catch (IOException error) {
      throw failed("cannot create a temporary folder", root, error);
    }
  }

  /** The files with these ends of their names, in all folders below. */
  public List<Path> files(String end) {
    try (Stream<Path> all = Files.walk(path)) {
      return all.filter(file -> Files.isRegularFile(file) && file.toString().endsWith(end))
          .collect(Collectors.toList());
    } catch (IOException error) {
      throw failed("cannot list a temporary folder", path, error);
    }
  }

  /** Removes the folder with everything in it. */
  @Override
  public void close() {
    if (!Files.exists(path)) {
      return;
    }
    try (Stream<Path> all = Files.walk(path)) {
      for (Path member : all.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
        Files.deleteIfExists(member);
      }
    } catch (IOException error) {
      throw failed("cannot remove a temporary folder", path, error);
    }
  }

  private static IoException failed(String what, Path where, IOException error) {
    return new IoException(what + ": " + error, where.toString(), null, null);
  }
}
