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

/** Wraps batches of the Arrow C Data interface as Spark's {@link ColumnarBatch}es, without copying values. */
public final class Vectors {
  private final long schema;
  private final StructType columns;
  /** For each column of {@link #columns}, its index in the batch; -1 for a constant column. */
  private final int[] batchIndexes;
  /** Values of the constant columns; null if the file lacks the column. */
  private final Object[] constants;

  /**
   * Prepares the conversion of the batches of one split.
   *
   * @param schema address of the {@code ArrowSchema} of the batches
   * @param columns the columns that Spark reads, in its order; their types may be wider than in the batches
   * @param values values of the constant columns, in Spark's internal representation
   * @throws InternalException if the batches lack a column that cannot be null
   */
  public Vectors(long schema, StructType columns, Map<String, Object> values) {
    this.schema = schema;
    this.columns = columns;
    Map<String, Integer> byName = new HashMap<>();
    for (int i = 0; i < CData.schemaChildren(schema); i++) {
      byName.put(CData.schemaName(CData.schemaChild(schema, i)), i);
    }
    StructField[] fields = columns.fields();
    batchIndexes = new int[fields.length];
    constants = new Object[fields.length];
    for (int i = 0; i < fields.length; i++) {
      if (values.containsKey(fields[i].name())) {
        batchIndexes[i] = -1;
        constants[i] = values.get(fields[i].name());
        continue;
      }
      batchIndexes[i] = byName.getOrDefault(TimePart.columnOf(fields[i]), -1);
      if (batchIndexes[i] < 0 && !fields[i].nullable()) {
        throw new InternalException("column \"" + fields[i].name() + "\" is missing in the batch");
      }
    }
  }

  /**
   * Wraps a batch. The result is valid as long as the batch is.
   *
   * @param array address of the {@code ArrowArray}
   */
  public ColumnarBatch batch(long array) {
    int rows = Math.toIntExact(CData.arrayLength(array));
    long base = CData.arrayOffset(array);
    StructField[] fields = columns.fields();
    ColumnVector[] vectors = new ColumnVector[batchIndexes.length];
    for (int i = 0; i < batchIndexes.length; i++) {
      int batchIndex = batchIndexes[i];
      if (batchIndex < 0) {
        vectors[i] = new ConstantVector(fields[i].dataType(), constants[i], rows);
        continue;
      }
      ArrowVector values = vector(
          CData.schemaChild(schema, batchIndex),
          CData.arrayChild(array, batchIndex),
          base,
          fields[i].dataType());
      TimePart part = TimePart.of(fields[i]);
      vectors[i] =
          part == null ? WidenedVector.of(values, fields[i].dataType()) : part.of(values, rows);
    }
    return new ColumnarBatch(vectors, rows);
  }

  /**
   * A batch of one row.
   *
   * @param values a value for each field, in Spark's internal representation, or null
   */
  public static ColumnarBatch row(StructType schema, Object[] values) {
    StructField[] fields = schema.fields();
    ColumnVector[] vectors = new ColumnVector[fields.length];
    for (int i = 0; i < fields.length; i++) {
      vectors[i] = new ConstantVector(fields[i].dataType(), values[i], 1);
    }
    return new ColumnarBatch(vectors, 1);
  }

  /** @param target the type to widen to: this method widens the items of lists, the caller the vector itself */
  private static ArrowVector vector(long schema, long array, long base, DataType target) {
    String format = CData.schemaFormat(schema);
    if (CData.schemaDictionary(schema) != 0) {
      if (format.equals("i")
          && CData.schemaFormat(CData.schemaDictionary(schema)).equals("u")) {
        return new DictionaryVector(array, base);
      }
      throw new InternalException("unexpected dictionary of Arrow format " + format);
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
        ColumnVector items = child(schema, array, 0, target);
        return new ListVector(listOf(items), array, base, items);
      case "+s":
        return struct(schema, array, base);
      default:
        if (format.startsWith("w:")) {
          return new FixedBinaryVector(array, base, Integer.parseInt(format.substring(2)));
        }
        if (format.startsWith("+w:")) {
          int size = Integer.parseInt(format.substring(3));
          ColumnVector all = child(schema, array, (base + CData.arrayOffset(array)) * size, target);
          return new FixedListVector(listOf(all), array, base, size, all);
        }
        throw new InternalException("unexpected Arrow format " + format);
    }
  }

  private static ColumnVector child(long schema, long array, long base, DataType target) {
    DataType item = target instanceof ArrayType ? ((ArrayType) target).elementType() : null;
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
    for (int i = 0; i < count; i++) {
      long memberSchema = CData.schemaChild(schema, i);
      members[i] =
          vector(memberSchema, CData.arrayChild(array, i), base + CData.arrayOffset(array), null);
      fields[i] =
          DataTypes.createStructField(CData.schemaName(memberSchema), members[i].dataType(), true);
    }
    return new StructVector(DataTypes.createStructType(fields), array, base, members);
  }
}
