package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InvalidInputException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/**
 * One dataset in the rows layout, for those who want arrays and not a table: each row of the first dimension with its
 * true number, the same in every partitioning. One-dimensional datasets have rows of one element.
 */
public final class ArrayRows implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StructType wanted;
  private final String session;
  private final DataType element;
  private final boolean list;
  private final long rows;
  private final transient List<byte[][]> partitions;

  /**
   * @param path a file, glob or folder
   * @param partitions at most so many; null leaves it to the sizes
   */
  public ArrayRows(String path, String dataset, Integer partitions) {
    Map<String, String> given = new HashMap<>();
    given.put("path", path);
    given.put("dataset", dataset);
    given.put("layout", "rows");
    if (partitions != null) {
      given.put("partitions", partitions.toString());
    }
    ReadOptions options = new ReadOptions(given);
    ObjectNode request = options.request(Files.of(options));
    Description described = Description.of(request);
    String column = described.schema.fields()[described.schema.length() - 1].name();
    DataType type = described.schema.apply(column).dataType();
    list = type instanceof ArrayType;
    element = list ? ((ArrayType) type).elementType() : type;
    wanted = new StructType().add("_row", DataTypes.LongType, false).add(described.schema.apply(column));
    session = options.taskSession();
    request.putArray("columns").add("_row").add(column);
    Description planned = Description.of(request);
    if (partitions != null) {
      request.put("partitions", partitions);
      request.put("targetBytes", Math.max(1, (planned.valueBytes + partitions - 1) / partitions));
    }
    byte[][] answer = Watch.planning(planning -> planning.split(request.toString()));
    JsonNode header = Description.parse(new String(answer[0], StandardCharsets.UTF_8));
    List<byte[][]> parts = new ArrayList<>();
    for (JsonNode partition : header.get("partitions")) {
      int first = 1 + partition.get("first").asInt();
      parts.add(Arrays.copyOfRange(answer, first, first + partition.get("count").asInt()));
    }
    this.partitions = Collections.unmodifiableList(parts);
    rows = planned.rows;
  }

  /** What each partition reads. */
  public List<byte[][]> partitions() {
    return partitions;
  }

  /** All rows of all files. */
  public long rows() {
    return rows;
  }

  /** Spark's name for the type of the elements. */
  public String elementType() {
    return element.catalogString();
  }

  /** One row: its number in the dataset, and its elements. */
  public static final class Row {
    public final long number;
    private final ColumnVector column;
    private final int place;
    private final boolean list;
    private final DataType element;

    Row(long number, ColumnVector column, int place, boolean list, DataType element) {
      this.number = number;
      this.column = column;
      this.place = place;
      this.list = list;
      this.element = element;
    }

    /** The elements in their own type: {@code byte[] short[] int[] long[] float[] double[]}. */
    public Object values() {
      ColumnarArray items = items();
      if (DataTypes.DoubleType.equals(element)) {
        return items.toDoubleArray();
      } else if (DataTypes.FloatType.equals(element)) {
        return items.toFloatArray();
      } else if (DataTypes.LongType.equals(element)) {
        return items.toLongArray();
      } else if (DataTypes.IntegerType.equals(element)) {
        return items.toIntArray();
      } else if (DataTypes.ShortType.equals(element)) {
        return items.toShortArray();
      } else if (DataTypes.ByteType.equals(element)) {
        return items.toByteArray();
      }
      throw new InvalidInputException("elements of type " + element.catalogString() + " are no numbers of a Java array");
    }

    /** The elements' bytes in this machine's order. */
    public byte[] bytes() {
      Object values = values();
      int first = Platform.BYTE_ARRAY_OFFSET;
      byte[] bytes = new byte[java.lang.reflect.Array.getLength(values) * element.defaultSize()];
      Platform.copyMemory(values, first, bytes, first, bytes.length);
      return bytes;
    }

    /** The elements as doubles; missing ones are NaN, integers that a double cannot hold are an error. */
    public double[] doubles() {
      ColumnarArray items = items();
      if (DataTypes.DoubleType.equals(element) && !column.hasNull()) {
        return items.toDoubleArray();
      }
      double[] doubles = new double[items.numElements()];
      for (int i = 0; i < doubles.length; i++) {
        doubles[i] = items.isNullAt(i) ? Double.NaN : asDouble(items, i);
      }
      return doubles;
    }

    private double asDouble(ColumnarArray items, int i) {
      if (DataTypes.DoubleType.equals(element)) {
        return items.getDouble(i);
      } else if (DataTypes.FloatType.equals(element)) {
        return items.getFloat(i);
      } else if (DataTypes.LongType.equals(element)) {
        long value = items.getLong(i);
        if ((long) (double) value != value || value == Long.MAX_VALUE) {
          throw new InvalidInputException("the integer " + value + " in row " + number + " is no double");
        }
        return value;
      } else if (DataTypes.IntegerType.equals(element)) {
        return items.getInt(i);
      } else if (DataTypes.ShortType.equals(element)) {
        return items.getShort(i);
      } else if (DataTypes.ByteType.equals(element)) {
        return items.getByte(i);
      } else if (DataTypes.BooleanType.equals(element)) {
        return items.getBoolean(i) ? 1 : 0;
      }
      throw new InvalidInputException("elements of type " + element.catalogString() + " are no numbers");
    }

    private ColumnarArray items() {
      return list ? column.getArray(place) : new ColumnarArray(column, place, 1);
    }
  }

  /** Reads one partition, inside of a task or outside. Values must be taken from a row before the next one. */
  public Iterator<Row> read(byte[][] splits) {
    BatchReader reader = new BatchReader(splits, wanted, session, "[]", false, false);
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener((org.apache.spark.util.TaskCompletionListener) context -> reader.close());
    }
    return new Iterator<Row>() {
      private ColumnarBatch batch;
      private int place;
      private boolean ended;

      @Override
      public boolean hasNext() {
        while (!ended && (batch == null || place >= batch.numRows())) {
          if (reader.next()) {
            batch = reader.get();
            place = 0;
          } else {
            ended = true;
            reader.close();
          }
        }
        return !ended;
      }

      @Override
      public Row next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        int here = place++;
        return new Row(batch.column(0).getLong(here), batch.column(1), here, list, element);
      }
    };
  }
}
