package io.hyperslab.spark.vectors;

import io.hyperslab.InternalException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes Spark's batches of exported ones: which vector class is for which Arrow type. */
public final class Vectors {
  private final long schema;
  private final StructType wanted;
  /** For each wanted column its number in the batch, -1 for a constant one. */
  private final int[] places;
  /** Values of columns that are not in batches; null if the file does not have the column. */
  private final Object[] constants;

  /**
   * @param schema address of the {@code ArrowSchema} of the batches
   * @param wanted the columns that Spark wants, in its order and types, which may be wider than those of the batches
   * @param values of columns that are the same in every row
   */
  public Vectors(long schema, StructType wanted, Map<String, Object> values) {
    this.schema = schema;
    this.wanted = wanted;
    Map<String, Integer> byName = new HashMap<>();
    for (int number = 0; number < CData.schemaChildren(schema); number++) {
      byName.put(CData.schemaName(CData.schemaChild(schema, number)), number);
    }
    StructField[] fields = wanted.fields();
    places = new int[fields.length];
    constants = new Object[fields.length];
    for (int number = 0; number < fields.length; number++) {
      if (values.containsKey(fields[number].name())) {
        places[number] = -1;
        constants[number] = values.get(fields[number].name());
        continue;
      }
      places[number] = byName.getOrDefault(fields[number].name(), -1);
      if (places[number] < 0 && !fields[number].nullable()) {
        throw new InternalException("column " + fields[number].name() + " was not read");
      }
    }
  }

  /** The batch at this address, valid as long as it is. */
  public ColumnarBatch batch(long array) {
    int rows = Math.toIntExact(CData.arrayLength(array));
    long base = CData.arrayOffset(array);
    StructField[] fields = wanted.fields();
    ColumnVector[] columns = new ColumnVector[places.length];
    for (int number = 0; number < places.length; number++) {
      int place = places[number];
      columns[number] = place < 0
          ? new ConstantVector(fields[number].dataType(), constants[number], rows)
          : WidenedVector.of(
              vector(
                  CData.schemaChild(schema, place),
                  CData.arrayChild(array, place),
                  base,
                  fields[number].dataType()),
              fields[number].dataType());
    }
    return new ColumnarBatch(columns, rows);
  }

  /** @param wanted what it is for; its items are widened here, itself by the caller */
  private static ArrowVector vector(long schema, long array, long base, DataType wanted) {
    String format = CData.schemaFormat(schema);
    if (CData.schemaDictionary(schema) != 0) {
      if (format.equals("i")
          && CData.schemaFormat(CData.schemaDictionary(schema)).equals("u")) {
        return new DictionaryVector(array, base);
      }
      throw new InternalException("a dictionary of Arrow format " + format);
    }
    switch (format) {
      case "b":
        return new BooleanVector(array, base);
      case "c":
        return new ByteVector(array, base);
      case "C":
        return new UnsignedByteVector(array, base);
      case "s":
        return new ShortVector(array, base);
      case "S":
        return new UnsignedShortVector(array, base);
      case "i":
        return new IntVector(array, base);
      case "I":
        return new UnsignedIntVector(array, base);
      case "l":
        return new LongVector(array, base);
      case "L":
        return new UnsignedLongVector(array, base);
      case "e":
        return new HalfVector(array, base);
      case "f":
        return new FloatVector(array, base);
      case "g":
        return new DoubleVector(array, base);
      case "u":
        return new StringVector(array, base);
      case "z":
        return new BinaryVector(array, base);
      case "tsu:":
        return new TimestampVector(array, base);
      case "+l":
        ColumnVector items = child(schema, array, 0, wanted);
        return new ListVector(listOf(items), array, base, items);
      case "+s":
        return struct(schema, array, base);
      default:
        if (format.startsWith("w:")) {
          return new FixedBinaryVector(array, base, Integer.parseInt(format.substring(2)));
        }
        if (format.startsWith("+w:")) {
          int size = Integer.parseInt(format.substring(3));
          ColumnVector all = child(schema, array, (base + CData.arrayOffset(array)) * size, wanted);
          return new FixedListVector(listOf(all), array, base, size, all);
        }
        throw new InternalException("no vector for Arrow format " + format);
    }
  }

  private static ColumnVector child(long schema, long array, long base, DataType wanted) {
    DataType item = wanted instanceof ArrayType ? ((ArrayType) wanted).elementType() : null;
    ArrowVector items =
        vector(CData.schemaChild(schema, 0), CData.arrayChild(array, 0), base, item);
    return item == null ? items : WidenedVector.of(items, item);
  }

  private static ArrayType listOf(ColumnVector items) {
    return DataTypes.createArrayType(items.dataType(), true);
  }

  private static StructVector struct(long schema, long array, long base) {
    int count = CData.schemaChildren(schema);
    ArrowVector[] members = new ArrowVector[count];
    StructField[] fields = new StructField[count];
    for (int number = 0; number < count; number++) {
      long memberSchema = CData.schemaChild(schema, number);
      members[number] = vector(
          memberSchema, CData.arrayChild(array, number), base + CData.arrayOffset(array), null);
      fields[number] = DataTypes.createStructField(
          CData.schemaName(memberSchema), members[number].dataType(), true);
    }
    return new StructVector(DataTypes.createStructType(fields), array, base, members);
  }
}
