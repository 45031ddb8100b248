package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import io.hyperslab.IoException;
import java.io.IOException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Which hosts are near to the bytes of a partition, where the file system behind local paths tells: Hadoop asks the
 * class that {@code fs.file.impl} names. Hadoop's own for local files knows only "localhost", which is no answer.
 */
final class Placement {
  /** The number of hosts that Spark's own file sources name. */
  private static final int MOST_HOSTS = 3;

  private final FileSystem system;
  private final Map<String, BlockLocation[]> blocks = new HashMap<>();

  private Placement(FileSystem system) {
    this.system = system;
  }

  /** Null if the file system does not report hosts. */
  static Placement of(Configuration configuration) {
    try {
      FileSystem system = new Path("file:///").getFileSystem(configuration);
      return system.getClass().equals(LocalFileSystem.class) ? null : new Placement(system);
    } catch (IOException error) {
      throw new IoException(
          "the file system of local paths: " + error.getMessage(), null, null, null);
    }
  }

  /**
   * The hosts that hold the most of a partition.
   *
   * @param files bytes to be read by file
   */
  String[] hosts(JsonNode files) {
    Map<String, Double> bytes = new HashMap<>();
    files.fields().forEachRemaining(file -> add(file.getKey(), file.getValue().asLong(), bytes));
    return bytes.entrySet().stream()
        .sorted(Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder())
            .thenComparing(Map.Entry.comparingByKey()))
        .limit(MOST_HOSTS)
        .map(Map.Entry::getKey)
        .toArray(String[]::new);
  }

  /** The position of the bytes in the file is not known here, so they are divided evenly among its blocks. */
  private void add(String file, long wanted, Map<String, Double> bytes) {
    BlockLocation[] locations = blocks.computeIfAbsent(file, this::locations);
    double all = 0;
    for (BlockLocation block : locations) {
      all += block.getLength();
    }
    for (BlockLocation block : locations) {
      for (String host : hostsOf(block)) {
        if (!host.equals("localhost")) {
          bytes.merge(host, wanted * block.getLength() / Math.max(1, all), Double::sum);
        }
      }
    }
  }

  private static String[] hostsOf(BlockLocation block) {
    try {
      return block.getHosts();
    } catch (IOException error) {
      return new String[0];
    }
  }

  private BlockLocation[] locations(String file) {
    try {
      FileStatus status = system.getFileStatus(new Path("file", null, file));
      return system.getFileBlockLocations(status, 0, status.getLen());
    } catch (IOException error) {
      // Hosts are only a hint; the reader reports a missing file.
      return new BlockLocation[0];
    }
  }
}
