package io.hyperslab.spark.vectors;

import io.hyperslab.InternalException;
import java.math.BigDecimal;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Presents a column as a wider type of the same values. */
final class WidenedVector extends ColumnVector {
  private static final long DAY_MICROSECONDS = 86_400_000_000L;

  private final ColumnVector values;

  private WidenedVector(ColumnVector values, DataType type) {
    super(type);
    this.values = values;
  }

  /** Widens a column; returns it unchanged if it has the type already. The items of lists are widened separately. */
  static ColumnVector of(ColumnVector values, DataType target) {
    DataType type = values.dataType();
    boolean isNested = type instanceof ArrayType || type instanceof StructType;
    if (isNested || type.equals(target) || type.catalogString().equals(target.catalogString())) {
      return values;
    }
    boolean isTime = type.equals(DataTypes.TimestampNTZType)
        && (target.equals(DataTypes.TimestampType) || target.equals(DataTypes.DateType));
    if (!isTime && !(isNumber(type) && isNumber(target))) {
      throw new InternalException("cannot widen a column of type " + type.catalogString() + " to "
          + target.catalogString());
    }
    return new WidenedVector(values, target);
  }

  private static boolean isNumber(DataType type) {
    return isInteger(type)
        || type.equals(DataTypes.FloatType)
        || type.equals(DataTypes.DoubleType)
        || type instanceof DecimalType;
  }

  private static boolean isInteger(DataType type) {
    return type.equals(DataTypes.ByteType)
        || type.equals(DataTypes.ShortType)
        || type.equals(DataTypes.IntegerType)
        || type.equals(DataTypes.LongType);
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return values.hasNull();
  }

  @Override
  public int numNulls() {
    return values.numNulls();
  }

  @Override
  public boolean isNullAt(int row) {
    return values.isNullAt(row);
  }

  @Override
  public byte getByte(int row) {
    return values.getByte(row);
  }

  @Override
  public short getShort(int row) {
    return (short) getLong(row);
  }

  @Override
  public int getInt(int row) {
    // Dates are stored as the times of their midnights.
    return type.equals(DataTypes.DateType)
        ? Math.toIntExact(Math.floorDiv(values.getLong(row), DAY_MICROSECONDS))
        : (int) getLong(row);
  }

  @Override
  public long getLong(int row) {
    DataType from = values.dataType();
    if (from.equals(DataTypes.ByteType)) {
      return values.getByte(row);
    } else if (from.equals(DataTypes.ShortType)) {
      return values.getShort(row);
    } else if (from.equals(DataTypes.IntegerType)) {
      return values.getInt(row);
    }
    return values.getLong(row);
  }

  @Override
  public float getFloat(int row) {
    return isInteger(values.dataType()) ? getLong(row) : values.getFloat(row);
  }

  @Override
  public double getDouble(int row) {
    return isInteger(values.dataType()) ? getLong(row) : values.getFloat(row);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return Decimal.apply(BigDecimal.valueOf(getLong(row)), precision, scale);
  }

  @Override
  public boolean getBoolean(int row) {
    return values.getBoolean(row);
  }

  @Override
  public ColumnarArray getArray(int row) {
    return values.getArray(row);
  }

  @Override
  public ColumnarMap getMap(int row) {
    return values.getMap(row);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return values.getUTF8String(row);
  }

  @Override
  public byte[] getBinary(int row) {
    return values.getBinary(row);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return values.getChild(ordinal);
  }
}
