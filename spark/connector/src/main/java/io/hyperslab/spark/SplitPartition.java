package io.hyperslab.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** The serialized splits that one task reads. */
final class SplitPartition implements InputPartition {
  private static final long serialVersionUID = 2L;

  final byte[][] splits;
  private final String[] hosts;
  /** The file of each split; null if not needed. */
  private final String[] files;
  /** For each split, the values of the partition columns in Spark's internal representation; null if there are none. */
  private final Object[][] constants;

  SplitPartition(byte[][] splits) {
    this(splits, new String[0], null, null);
  }

  SplitPartition(byte[][] splits, String[] hosts, String[] files, Object[][] constants) {
    this.splits = splits;
    this.hosts = hosts;
    this.files = files;
    this.constants = constants;
  }

  /** The file of a split; null if not needed. */
  String file(int split) {
    return files == null ? null : files[split];
  }

  /** The values of the partition columns for a split. */
  Object[] constants(int split) {
    return constants == null ? new Object[0] : constants[split];
  }

  @Override
  public String[] preferredLocations() {
    return hosts;
  }
}
