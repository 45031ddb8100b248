package io.hyperslab.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: splits, as the bytes that the planner made of them. */
final class SplitPartition implements InputPartition {
  private static final long serialVersionUID = 2L;

  final byte[][] splits;
  private final String[] hosts;
  /** The file of each split; null if it is not used. */
  private final String[] files;
  /** For each split the values of the columns that partition folders make, in Spark's own form; null without any. */
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

  /** The file of a split, or null. */
  String file(int split) {
    return files == null ? null : files[split];
  }

  /** The values of the columns that partition folders make. */
  Object[] constants(int split) {
    return constants == null ? new Object[0] : constants[split];
  }

  @Override
  public String[] preferredLocations() {
    return hosts;
  }
}
