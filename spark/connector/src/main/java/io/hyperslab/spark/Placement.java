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
 * Finds the hosts that store the bytes of a partition, if the file system of local paths reports them: Hadoop's option
 * {@code fs.file.impl} names its class. Hadoop's default class reports only "localhost", which does not identify a host.
 */
final class Placement {
  /** Maximum number of hosts per partition, as in Spark's own file sources. */
  private static final int MAX_HOSTS = 3;

  private final FileSystem system;
  private final Map<String, BlockLocation[]> blocks = new HashMap<>();

  private Placement(FileSystem system) {
    this.system = system;
  }

  /** The placement by the configured file system, or null if that does not report hosts. */
  static Placement of(Configuration configuration) {
    try {
      FileSystem system = new Path("file:///").getFileSystem(configuration);
      return system.getClass().equals(LocalFileSystem.class) ? null : new Placement(system);
    } catch (IOException error) {
      throw new IoException(
          "cannot open the file system of local paths: " + error.getMessage(), null, null, null);
    }
  }

  /**
   * The hosts that store most of a partition's bytes, in descending order.
   *
   * @param files number of bytes to read from each file
   */
  String[] hosts(JsonNode files) {
    Map<String, Double> bytes = new HashMap<>();
    files.fields().forEachRemaining(file -> add(file.getKey(), file.getValue().asLong(), bytes));
    return bytes.entrySet().stream()
        .sorted(Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder())
            .thenComparing(Map.Entry.comparingByKey()))
        .limit(MAX_HOSTS)
        .map(Map.Entry::getKey)
        .toArray(String[]::new);
  }

  /** Adds the bytes of a file to the hosts of its blocks, in proportion to the block sizes: offsets are unknown here. */
  private void add(String file, long bytesToRead, Map<String, Double> bytes) {
    BlockLocation[] locations = blocks.computeIfAbsent(file, this::locations);
    double fileBytes = 0;
    for (BlockLocation block : locations) {
      fileBytes += block.getLength();
    }
    for (BlockLocation block : locations) {
      for (String host : hostsOf(block)) {
        if (!host.equals("localhost")) {
          bytes.merge(host, bytesToRead * block.getLength() / Math.max(1, fileBytes), Double::sum);
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
      // Hosts are only a hint. The reader reports a missing file.
      return new BlockLocation[0];
    }
  }
}
