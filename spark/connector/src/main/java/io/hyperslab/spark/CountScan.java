package io.hyperslab.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Counts known from metadata, for which Spark runs no tasks. */
final class CountScan implements LocalScan {
  private final long[] counts;

  CountScan(long[] counts) {
    this.counts = counts;
  }

  @Override
  public StructType readSchema() {
    StructType schema = new StructType();
    for (int i = 0; i < counts.length; i++) {
      schema = schema.add("count_" + i, DataTypes.LongType, false);
    }
    return schema;
  }

  @Override
  public InternalRow[] rows() {
    Object[] values = new Object[counts.length];
    for (int i = 0; i < counts.length; i++) {
      values[i] = counts[i];
    }
    return new InternalRow[] {new GenericInternalRow(values)};
  }

  @Override
  public String description() {
    return "hdf5 count from shapes";
  }
}
