package io.hyperslab.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: splits, as the bytes that the planner made of them. */
final class SplitPartition implements InputPartition {
  private static final long serialVersionUID = 1L;

  final byte[][] splits;

  SplitPartition(byte[][] splits) {
    this.splits = splits;
  }
}
