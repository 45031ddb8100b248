package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column with the same value in every row: a partition value, the facts of a file (a struct), or null if the file lacks
 * the column.
 */
final class ConstantVector extends ColumnVector {
  private final Object value;
  private final int rows;
  /** The members of a struct; empty for other types. */
  private final ConstantVector[] members;

  /** @param value the value in Spark's internal representation (for a struct, the value of each member), or null */
  ConstantVector(DataType type, Object value, int rows) {
    super(type);
    this.value = value;
    this.rows = rows;
    StructField[] fields =
        type instanceof StructType ? ((StructType) type).fields() : new StructField[0];
    members = new ConstantVector[fields.length];
    for (int i = 0; i < fields.length; i++) {
      Object member = value == null ? null : ((Object[]) value)[i];
      members[i] = new ConstantVector(fields[i].dataType(), member, rows);
    }
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return value == null && rows > 0;
  }

  @Override
  public int numNulls() {
    return value == null ? rows : 0;
  }

  @Override
  public boolean isNullAt(int row) {
    return value == null;
  }

  // Spark's generated code may read the value of a null and discard it.

  @Override
  public boolean getBoolean(int row) {
    return value != null && (Boolean) value;
  }

  @Override
  public byte getByte(int row) {
    return value == null ? 0 : ((Number) value).byteValue();
  }

  @Override
  public short getShort(int row) {
    return value == null ? 0 : ((Number) value).shortValue();
  }

  @Override
  public int getInt(int row) {
    return value == null ? 0 : ((Number) value).intValue();
  }

  @Override
  public long getLong(int row) {
    return value == null ? 0 : ((Number) value).longValue();
  }

  @Override
  public float getFloat(int row) {
    return value == null ? 0 : ((Number) value).floatValue();
  }

  @Override
  public double getDouble(int row) {
    return value == null ? 0 : ((Number) value).doubleValue();
  }

  @Override
  public ColumnarArray getArray(int row) {
    return null;
  }

  @Override
  public ColumnarMap getMap(int row) {
    return null;
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return (Decimal) value;
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return (UTF8String) value;
  }

  @Override
  public byte[] getBinary(int row) {
    return null;
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return members.length == 0 ? this : members[ordinal];
  }
}
