package io.hyperslab.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Counts that are known already: Spark runs no task for them. */
final class CountScan implements LocalScan {
  private final long[] counts;

  CountScan(long[] counts) {
    this.counts = counts;
  }

  @Override
  public StructType readSchema() {
    StructType schema = new StructType();
    for (int number = 0; number < counts.length; number++) {
      schema = schema.add("count_" + number, DataTypes.LongType, false);
    }
    return schema;
  }

  @Override
  public InternalRow[] rows() {
    Object[] values = new Object[counts.length];
    for (int number = 0; number < counts.length; number++) {
      values[number] = counts[number];
    }
    return new InternalRow[] {new GenericInternalRow(values)};
  }

  @Override
  public String description() {
    return "hdf5 count from shapes";
  }
}
