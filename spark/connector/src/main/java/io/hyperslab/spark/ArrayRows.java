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
 * One dataset of one or more files in the rows layout, for those who want arrays and not a table. Rows are numbered
 * from 0 on through all files, in the order of files, datasets (of wildcards) and rows, in every partitioning.
 * One-dimensional datasets have rows of one element.
 */
public final class ArrayRows implements Serializable {
  private static final long serialVersionUID = 2L;

  private final StructType wanted;
  private final String session;
  private final DataType element;
  private final boolean list;
  private final long rows;
  private final long width;
  private final transient List<Part> parts;

  /** What one task reads: splits, and the number of their first row. */
  public static final class Part implements Serializable {
    private static final long serialVersionUID = 1L;

    private final byte[][] splits;
    private final long firstRow;

    Part(byte[][] splits, long firstRow) {
      this.splits = splits;
      this.firstRow = firstRow;
    }
  }

  /**
   * Plans from metadata.
   *
   * @param files a file, glob, folder or list of files; or a {@code java.util.List} (an array) of them, in which
   *     {@code {file, dataset}} pairs may stand
   * @param dataset null if each file names its dataset
   * @param partitions maximum number of partitions; null chooses it by the sizes
   */
  public ArrayRows(Object files, String dataset, Integer partitions) {
    Map<String, String> given = new HashMap<>();
    given.put("paths", GivenPath.listOf(files));
    given.put("layout", "rows");
    given.put("filecolumns", "false");
    if (dataset != null) {
      given.put("dataset", dataset);
    }
    if (partitions != null) {
      given.put("partitions", partitions.toString());
    }
    ReadOptions options = new ReadOptions(given);
    Long count = options.number("partitions");
    ObjectNode request = options.request(Files.of(options));
    Description described = Description.of(request);
    String column = described.schema.fields()[described.schema.length() - 1].name();
    DataType type = described.schema.apply(column).dataType();
    list = type instanceof ArrayType;
    element = list ? ((ArrayType) type).elementType() : type;
    width = list ? described.listSize(column) : 1;
    wanted = new StructType().add(described.schema.apply(column));
    session = options.taskSession();
    request.putArray("columns").add(column);
    Description planned = Description.of(request);
    if (count != null) {
      Hdf5Scan.aimAt(count, planned.valueBytes, request);
    }
    byte[][] answer = Watch.planning(planning -> planning.split(request.toString()));
    JsonNode header = Description.parse(new String(answer[0], StandardCharsets.UTF_8));
    Description.warnOfSkipped(header);
    List<Part> parts = new ArrayList<>();
    long row = 0;
    // Splits come in the order of files and rows, and no predicate leaves rows out.
    for (JsonNode partition : header.get("partitions")) {
      int first = 1 + partition.get("first").asInt();
      parts.add(new Part(
          Arrays.copyOfRange(answer, first, first + partition.get("count").asInt()), row));
      row = Math.addExact(row, partition.get("rows").asLong());
    }
    this.parts = Collections.unmodifiableList(parts);
    rows = row;
  }

  /** What each partition reads. */
  public List<Part> parts() {
    return parts;
  }

  /** All rows of all files. */
  public long rows() {
    return rows;
  }

  /** Elements of a row. */
  public long width() {
    return width;
  }

  /** Spark's name for the type of the elements. */
  public String elementType() {
    return element.catalogString();
  }

  /** One row: its number among the rows of all files, and its elements. */
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
      throw new InvalidInputException(
          "elements of type " + element.catalogString() + " are no numbers of a Java array");
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
          throw new InvalidInputException(
              "the integer " + value + " in row " + number + " is no double");
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
      throw new InvalidInputException(
          "elements of type " + element.catalogString() + " are no numbers");
    }

    private ColumnarArray items() {
      return list ? column.getArray(place) : new ColumnarArray(column, place, 1);
    }
  }

  /** Reads one partition, inside of a task or outside. Values must be taken from a row before the next one. */
  public Iterator<Row> read(Part part) {
    BatchReader reader = new BatchReader(
        new SplitPartition(part.splits), wanted, new String[0], session, "[]", false, false);
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener(
          (org.apache.spark.util.TaskCompletionListener) context -> reader.close());
    }
    return new Iterator<Row>() {
      private ColumnarBatch batch;
      private int place;
      private long number = part.firstRow;
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
        return new Row(number++, batch.column(0), place++, list, element);
      }
    };
  }
}
