package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;

/** Fixed-length lists: members that are arrays, and the rows layout. */
final class FixedListVector extends ArrowVector {
  private final int size;
  private final ColumnVector items;

  /** @param items the items of all rows, beginning with row 0 */
  FixedListVector(ArrayType type, long array, long base, int size, ColumnVector items) {
    super(type, array, base);
    this.size = size;
    this.items = items;
  }

  @Override
  public ColumnarArray getArray(int row) {
    return new ColumnarArray(items, Math.multiplyExact(row, size), size);
  }
}
