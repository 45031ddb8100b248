package io.hyperslab.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: splits, as the bytes that the planner made of them. */
final class SplitPartition implements InputPartition {
  private static final long serialVersionUID = 1L;

  final byte[][] splits;
  private final String[] hosts;

  SplitPartition(byte[][] splits, String[] hosts) {
    this.splits = splits;
    this.hosts = hosts;
  }

  @Override
  public String[] preferredLocations() {
    return hosts;
  }
}
