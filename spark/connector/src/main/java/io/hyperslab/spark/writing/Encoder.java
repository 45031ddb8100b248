package io.hyperslab.spark.writing;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Encodes values of a Spark type for the file, in the format that {@code written_type.rs} of the native library defines. */
@FunctionalInterface
interface Encoder {
  BigInteger UNSIGNED_64_BIT_END = BigInteger.ONE.shiftLeft(64);

  void put(SpecializedGetters values, int ordinal, Bytes out, Heap heap);

  /** @param nan whether a float that is null is written as NaN */
  static Encoder of(String name, DataType type, boolean nan) {
    Encoder value = ofValue(name, type, nan);
    Encoder missing = missing(name, type, nan);
    return (values, ordinal, out, heap) ->
        (values.isNullAt(ordinal) ? missing : value).put(values, ordinal, out, heap);
  }

  static Encoder missing(String name, DataType type, boolean nan) {
    if (nan && type.equals(DataTypes.DoubleType)) {
      return (values, ordinal, out, heap) -> out.putDouble(Double.NaN);
    } else if (nan && type.equals(DataTypes.FloatType)) {
      return (values, ordinal, out, heap) -> out.putFloat(Float.NaN);
    }
    return (values, ordinal, out, heap) -> {
      throw new UnsupportedException(
          "column \"" + name
              + "\" contains nulls, which HDF5 cannot store: fill them first, or set option nulls=nan for floats");
    };
  }

  static Encoder ofValue(String name, DataType type, boolean nan) {
    if (type.equals(DataTypes.BooleanType)) {
      return (values, ordinal, out, heap) ->
          out.putByte((byte) (values.getBoolean(ordinal) ? 1 : 0));
    } else if (type.equals(DataTypes.ByteType)) {
      return (values, ordinal, out, heap) -> out.putByte(values.getByte(ordinal));
    } else if (type.equals(DataTypes.ShortType)) {
      return (values, ordinal, out, heap) -> out.putShort(values.getShort(ordinal));
    } else if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType)) {
      return (values, ordinal, out, heap) -> out.putInt(values.getInt(ordinal));
    } else if (type.equals(DataTypes.LongType)
        || type.equals(DataTypes.TimestampType)
        || type.equals(DataTypes.TimestampNTZType)) {
      return (values, ordinal, out, heap) -> out.putLong(values.getLong(ordinal));
    } else if (type.equals(DataTypes.FloatType)) {
      return (values, ordinal, out, heap) -> out.putFloat(values.getFloat(ordinal));
    } else if (type.equals(DataTypes.DoubleType)) {
      return (values, ordinal, out, heap) -> out.putDouble(values.getDouble(ordinal));
    } else if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return (values, ordinal, out, heap) -> {
        BigInteger value = values
            .getDecimal(ordinal, decimal.precision(), decimal.scale())
            .toJavaBigDecimal()
            .toBigIntegerExact();
        if (value.signum() < 0 || value.compareTo(UNSIGNED_64_BIT_END) >= 0) {
          throw new InvalidInputException("column \"" + name + "\" has the value " + value
              + ", which is out of range for unsigned 64-bit integers");
        }
        out.putLong(value.longValue());
      };
    } else if (type instanceof StringType) {
      return (values, ordinal, out, heap) -> {
        if (!heap.putText(values.getUTF8String(ordinal), out)) {
          throw new UnsupportedException("column \"" + name
              + "\" has a string with a NUL, at which HDF5 readers would truncate it");
        }
      };
    } else if (type.equals(DataTypes.BinaryType)) {
      return (values, ordinal, out, heap) -> {
        byte[] value = values.getBinary(ordinal);
        heap.putAll(value, value.length, value.length, out);
      };
    } else if (type instanceof ArrayType) {
      return ofArray(name, (ArrayType) type, nan);
    } else if (type instanceof StructType) {
      return ofStruct(name, (StructType) type, nan);
    }
    throw new UnsupportedException(
        "column \"" + name + "\" has type " + type.catalogString() + ", which HDF5 cannot store");
  }

  static Encoder ofArray(String name, ArrayType type, boolean nan) {
    Encoder item = of(name, type.elementType(), nan);
    return (values, ordinal, out, heap) -> {
      ArrayData array = values.getArray(ordinal);
      // Items may add strings to the heap; these precede the array in it.
      Bytes items = new Bytes();
      for (int i = 0; i < array.numElements(); i++) {
        item.put(array, i, items, heap);
      }
      heap.putAll(items.array, items.length, array.numElements(), out);
    };
  }

  static Encoder ofStruct(String name, StructType type, boolean nan) {
    StructField[] fields = type.fields();
    Encoder[] members = new Encoder[fields.length];
    for (int i = 0; i < members.length; i++) {
      members[i] = of(name + "." + fields[i].name(), fields[i].dataType(), nan);
    }
    return (values, ordinal, out, heap) -> {
      InternalRow struct = values.getStruct(ordinal, members.length);
      for (int i = 0; i < members.length; i++) {
        members[i].put(struct, i, out, heap);
      }
    };
  }
}
