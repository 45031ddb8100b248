package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InvalidInputException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.io.Serializable;
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
 * A dataset of one or more files in the rows layout, as arrays instead of a table. Rows have consecutive indexes from 0
 * over all files, in the order of files, datasets (if wildcards match several) and rows, independent of partitions. Rows of
 * one-dimensional datasets have one element.
 *
 * <p>If the chunks of a range of rows are more than a partition should have, partitions are boxes: they end at chunk borders of
 * the second dimension, too, and have {@linkplain #isCut() parts of rows}.
 *
 * <pre>{@code
 * ArrayRows rows = new ArrayRows("/data/run_*.h5", "/temperature", null);
 * for (ArrayRows.Partition partition : rows.partitions()) {
 *   rows.read(partition).forEachRemaining(row -> process(row.index, row.doubles()));
 * }
 * }</pre>
 */
public final class ArrayRows implements Serializable {
  private static final long serialVersionUID = 4L;

  private final StructType readSchema;
  private final String session;
  private final DataType element;
  private final boolean list;
  private final long rows;
  private final long width;
  private final boolean isCut;
  private final transient List<Partition> partitions;
  /** The file systems that the native library opens addresses by; null if all files are local. */
  private final HadoopFiles hadoop;

  /** The splits that one task reads, and the rows and columns of each. */
  public static final class Partition implements Serializable {
    private static final long serialVersionUID = 2L;

    private final byte[][] splits;
    private final Box[] boxes;

    Partition(byte[][] splits, Box... boxes) {
      this.splits = splits;
      this.boxes = boxes;
    }
  }

  /** The rows and columns of a split, which has the elements in row-major order. */
  private static final class Box implements Serializable {
    private static final long serialVersionUID = 1L;

    final long firstRow;
    final long firstColumn;
    final long columns;

    Box(long firstRow, long firstColumn, long columns) {
      this.firstRow = firstRow;
      this.firstColumn = firstColumn;
      this.columns = columns;
    }
  }

  /**
   * Plans the read from metadata.
   *
   * @param files a path (of a file, glob, folder or list of files), or a {@code java.util.List} or array of paths and
   *     {@code {file, dataset}} pairs
   * @param dataset path of the dataset; null if each file comes with its dataset
   * @param partitions maximum number of partitions; null derives it from the sizes
   * @throws InvalidInputException if an argument is invalid
   * @throws io.hyperslab.NotFoundException if a file or dataset does not exist
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
    List<InputFile> found = Files.of(options);
    hadoop = InputFile.isAnyRemote(found) ? options.hadoop() : null;
    ObjectNode request = options.request(found);
    Description described = Description.of(request, options);
    String column = described.schema.fields()[described.schema.length() - 1].name();
    DataType type = described.schema.apply(column).dataType();
    list = type instanceof ArrayType;
    element = list ? ((ArrayType) type).elementType() : type;
    width = list ? described.listSize(column) : 1;
    session = options.taskSession(hadoop != null);
    request.putArray("columns").add(column);
    Description estimate = Description.of(request, options);
    if (count != null) {
      Hdf5Scan.limitPartitions(count, estimate.valueBytes, request);
    } else {
      request.put("targetBytes", Hdf5Scan.MAX_TARGET_BYTES);
    }
    // A split may exceed the target by an eighth.
    isCut = estimate.chunkRowBytes > request.get("targetBytes").asLong() * 9 / 8;
    if (isCut) {
      request.put("layout", "cells").put("boxes", true);
    }
    readSchema = isCut
        ? new StructType().add(column, element)
        : new StructType().add(described.schema.apply(column));
    byte[][] answer = Watch.planning(planning -> planning.split(request.toString()));
    JsonNode header = Description.header(answer);
    Description.handleSkipped(header, options);
    List<Partition> planned = new ArrayList<>();
    long row = 0;
    // Splits are in the order of files and rows, and no predicate removes rows.
    for (JsonNode partition : header.get("partitions")) {
      int first = 1 + partition.get("first").asInt();
      byte[][] splits =
          Arrays.copyOfRange(answer, first, first + partition.get("count").asInt());
      List<Box> boxes = new ArrayList<>();
      for (JsonNode box : partition.get("splitBoxes")) {
        boxes.add(new Box(box.get(0).asLong(), box.get(2).asLong(), box.get(3).asLong()));
      }
      planned.add(new Partition(
          splits, isCut ? boxes.toArray(new Box[0]) : new Box[] {new Box(row, 0, width)}));
      row = Math.addExact(row, isCut ? 0 : partition.get("rows").asLong());
    }
    this.partitions = Collections.unmodifiableList(planned);
    rows = isCut ? estimate.rows : row;
  }

  /** Returns the partitions, in the order of their rows. */
  public List<Partition> partitions() {
    return partitions;
  }

  /**
   * Returns whether partitions have parts of rows: {@link Row#firstColumn} says which, and a row has parts in several
   * partitions.
   */
  public boolean isCut() {
    return isCut;
  }

  /** Returns the number of rows of all files. */
  public long rows() {
    return rows;
  }

  /** Returns the number of elements of a row. */
  public long width() {
    return width;
  }

  /** Returns Spark's name for the type of the elements, such as {@code double}. */
  public String elementType() {
    return element.catalogString();
  }

  /** One row or part of one: its index among the rows of all files, and its elements. */
  public static final class Row {
    /** Index of the row among the rows of all files, from 0. */
    public final long index;

    /** Index in the row of the first of the elements. */
    public final long firstColumn;

    private final ColumnVector column;
    private final ColumnarArray items;
    private final DataType element;

    Row(long index, long firstColumn, ColumnVector column, ColumnarArray items, DataType element) {
      this.index = index;
      this.firstColumn = firstColumn;
      this.column = column;
      this.items = items;
      this.element = element;
    }

    /** Returns the number of elements. */
    public int columns() {
      return items.numElements();
    }

    /**
     * Returns the elements as an array of their type: {@code byte[]}, {@code short[]}, {@code int[]}, {@code long[]},
     * {@code float[]} or {@code double[]}.
     *
     * @throws InvalidInputException if the elements are not numbers
     */
    public Object values() {
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
      throw new InvalidInputException("elements of type " + element.catalogString()
          + " cannot be returned as a Java array of numbers");
    }

    /**
     * Returns the bytes of the elements in the machine's byte order.
     *
     * @throws InvalidInputException if the elements are not numbers
     */
    public byte[] bytes() {
      Object values = values();
      int first = Platform.BYTE_ARRAY_OFFSET;
      byte[] bytes = new byte[java.lang.reflect.Array.getLength(values) * element.defaultSize()];
      Platform.copyMemory(values, first, bytes, first, bytes.length);
      return bytes;
    }

    /**
     * Returns the elements as doubles. Nulls become NaN.
     *
     * @throws InvalidInputException if the elements are not numbers, or an integer has no exact double
     */
    public double[] doubles() {
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
          throw new InvalidInputException("the integer " + value + " in row " + index
              + " cannot be represented exactly as a double");
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
          "elements of type " + element.catalogString() + " are not numbers");
    }
  }

  /**
   * Reads one partition, in a task or outside of one: its rows in order, or the parts of its rows. A row is valid until the next call of {@code next} or {@code hasNext}.
   *
   * @throws io.hyperslab.HyperslabException from the iterator if a file cannot be read
   */
  public Iterator<Row> read(Partition partition) {
    if (hadoop != null) {
      // The session options of the driver name the key.
      hadoop.key();
    }
    BatchReader reader = new BatchReader(
        new SplitPartition(partition.splits),
        readSchema,
        new String[0],
        session,
        SplitQuery.ROWS,
        null,
        false,
        null);
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener(
          (org.apache.spark.util.TaskCompletionListener) context -> reader.close());
    }
    return isCut
        ? new Parts(partition, reader)
        : new WholeRows(partition.boxes[0].firstRow, reader);
  }

  /** Rows of the batches of a reader. */
  private abstract static class Rows implements Iterator<Row> {
    private final BatchReader reader;
    private boolean ended;
    /** The current batch; null before the first one. */
    ColumnarBatch batch;
    /** Position in the batch of the next row, or of the first element of the next part of a row. */
    int position;

    Rows(BatchReader reader) {
      this.reader = reader;
    }

    @Override
    public boolean hasNext() {
      while (!ended && (batch == null || position >= batch.numRows())) {
        if (reader.next()) {
          batch = reader.get();
          position = 0;
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
      return nextOfBatch();
    }

    abstract Row nextOfBatch();
  }

  private final class WholeRows extends Rows {
    private long index;

    WholeRows(long firstRow, BatchReader reader) {
      super(reader);
      index = firstRow;
    }

    @Override
    Row nextOfBatch() {
      ColumnVector column = batch.column(0);
      ColumnarArray items =
          list ? column.getArray(position) : new ColumnarArray(column, position, 1);
      position++;
      return new Row(index++, 0, column, items, element);
    }
  }

  /** Parts of rows from batches of elements. A part ends with its row, its box or its batch. */
  private final class Parts extends Rows {
    private final Partition partition;
    private final BatchReader reader;
    /** Index of the element after the last part, in its box. */
    private long done;

    private int box;

    Parts(Partition partition, BatchReader reader) {
      super(reader);
      this.partition = partition;
      this.reader = reader;
    }

    @Override
    Row nextOfBatch() {
      if (reader.split() != box) {
        box = reader.split();
        done = 0;
      }
      Box from = partition.boxes[box];
      long inRow = done % from.columns;
      int count = (int) Math.min(from.columns - inRow, batch.numRows() - position);
      ColumnVector column = batch.column(0);
      Row part = new Row(
          from.firstRow + done / from.columns,
          from.firstColumn + inRow,
          column,
          new ColumnarArray(column, position, count),
          element);
      position += count;
      done += count;
      return part;
    }
  }
}
