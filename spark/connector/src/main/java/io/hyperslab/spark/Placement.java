package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import io.hyperslab.HyperslabException;
import io.hyperslab.IoException;
import io.hyperslab.spark.hadoop.HadoopFiles;
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
 * Finds the hosts that store the bytes of a partition, if their file system reports them, as HDFS does. For local paths, Hadoop's
 * option {@code fs.file.impl} names its class; the default class reports only "localhost", which does not identify a host.
 */
final class Placement {
  /** Maximum number of hosts per partition, as in Spark's own file sources. */
  private static final int MAX_HOSTS = 3;

  /** The file system of local paths; null if it reports no hosts. */
  private final FileSystem system;
  /** The file systems of addresses; null if all files are local. */
  private final HadoopFiles hadoop;

  private final Map<String, BlockLocation[]> blocks = new HashMap<>();

  private Placement(FileSystem system, HadoopFiles hadoop) {
    this.system = system;
    this.hadoop = hadoop;
  }

  /**
   * The placement by the configured file systems, or null if these do not report hosts.
   *
   * @param hadoop the file systems of addresses; null if all files are local
   */
  static Placement of(Configuration configuration, HadoopFiles hadoop) {
    try {
      FileSystem system = new Path("file:///").getFileSystem(configuration);
      boolean isPlain = system.getClass().equals(LocalFileSystem.class);
      return isPlain && hadoop == null ? null : new Placement(isPlain ? null : system, hadoop);
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

  private BlockLocation[] remoteLocations(String file) {
    try {
      return hadoop == null ? new BlockLocation[0] : hadoop.blocks(file);
    } catch (HyperslabException error) {
      // Hosts are only a hint. The reader reports a file that cannot be read.
      return new BlockLocation[0];
    }
  }

  private BlockLocation[] locations(String file) {
    if (HadoopFiles.isRemote(file)) {
      return remoteLocations(file);
    }
    if (system == null) {
      return new BlockLocation[0];
    }
    try {
      FileStatus status = system.getFileStatus(new Path("file", null, file));
      return system.getFileBlockLocations(status, 0, status.getLen());
    } catch (IOException error) {
      // Hosts are only a hint. The reader reports a missing file.
      return new BlockLocation[0];
    }
  }
}
