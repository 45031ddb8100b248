package io.hyperslab.spark;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns that {@link Aggregates} may use, and which sums of them are exact. */
final class AggregateColumns {
  /** Up to this number, doubles are exact integers. */
  private static final long MAX_EXACT = 1L << 53;

  private final StructType table;
  /** Types of the columns that are in the files, metadata columns included. */
  private final Map<String, DataType> types;

  private final PartitionFolders folders;
  private final boolean sumsFloats;
  /** Upper bound of the number of rows. */
  private final LongSupplier maxRows;
  /** The columns whose average is asked for. Spark averages doubles; it is given sums and counts instead. */
  private final Set<String> averaged = new HashSet<>();

  AggregateColumns(
      StructType table,
      Map<String, DataType> types,
      PartitionFolders folders,
      boolean sumsFloats,
      LongSupplier maxRows) {
    this.table = table;
    this.types = types;
    this.folders = folders;
    this.sumsFloats = sumsFloats;
    this.maxRows = maxRows;
  }

  /** Notes the averages, which Spark replaces by sums and counts when it pushes the aggregates. */
  void note(Aggregation aggregation) {
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      if (function instanceof Avg) {
        averaged.add(Aggregates.name(function.children()[0]));
      }
    }
  }

  /** The column of this name, or null. */
  StructField column(String name) {
    for (StructField field : table.fields()) {
      if (field.name().equals(name)) {
        return field;
      }
    }
    return types.containsKey(name)
        ? DataTypes.createStructField(name, types.get(name), true)
        : null;
  }

  /** Whether the column follows from the folders of files. */
  boolean isOfFolders(StructField column) {
    return folders.folderName(column) != null;
  }

  /** Whether sums of floats may have other last digits than Spark's. */
  boolean sumsFloats() {
    return sumsFloats;
  }

  /** Whether a sum of integers is what Spark computes: an average of a column is one of doubles, whose sum must be exact. */
  boolean isSumExact(StructField column) {
    if (!averaged.contains(column.name())) {
      return true;
    }
    if (column.dataType().equals(DataTypes.LongType)) {
      return false;
    }
    long greatest = 1L << (8 * column.dataType().defaultSize() - 1);
    return maxRows.getAsLong() <= MAX_EXACT / greatest;
  }
}
