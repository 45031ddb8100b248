package io.hyperslab.spark.mllib;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.ArrayRows;
import java.io.Serializable;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.mllib.linalg.Vector;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.linalg.distributed.BlockMatrix;
import org.apache.spark.mllib.linalg.distributed.CoordinateMatrix;
import org.apache.spark.mllib.linalg.distributed.IndexedRow;
import org.apache.spark.mllib.linalg.distributed.IndexedRowMatrix;
import org.apache.spark.mllib.linalg.distributed.MatrixEntry;
import org.apache.spark.mllib.linalg.distributed.RowMatrix;
import org.apache.spark.mllib.regression.LabeledPoint;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Reads datasets as the structures of MLlib, with the function names of H5Spark. A row is an index of the first dimension,
 * with the other dimensions flattened. Rows have consecutive indexes from 0 over all files, in the order of files and rows,
 * independent of partitions. The rows of all files must have the same length.
 *
 * <p>If the chunks of a range of rows are more than a partition should have, tasks read boxes that end at chunk borders along
 * the columns, too. The functions that return elements ({@code point}, {@code coordmat}) then return them in the order of the
 * boxes. Those that return rows put the parts together by a shuffle, into at most as many partitions as there are rows.
 *
 * <pre>{@code
 * IndexedRowMatrix matrix = H5Read.h5read_imat(spark, "/data/run_*.h5", "/temperature", null);
 * }</pre>
 *
 * <p>All functions have these parameters:
 *
 * <ul>
 *   <li>{@code files}: a path (of a file, glob, folder or list of files), or a {@code java.util.List} or array of paths and
 *       {@code {file, dataset}} pairs. A pair is an array or a {@code scala.Tuple2}; a single tuple is accepted, too.
 *   <li>{@code dataset}: the path of the dataset; null if the files come with their datasets.
 *   <li>{@code partitions}: the maximum number of partitions; null derives it from the sizes.
 * </ul>
 *
 * <p>Planning reads metadata only. It throws an {@link InvalidInputException} if an argument is invalid or the files do not
 * form one table, and a {@link io.hyperslab.NotFoundException} if a file or dataset does not exist. Errors of reading
 * values fail the task.
 */
public final class H5Read {
  private H5Read() {}

  /** Returns the rows as arrays of the dataset's type ({@code int[]}, {@code double[]} …). */
  public static JavaRDD<Object> h5read(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return of(spark, planned(files, dataset, partitions), row -> row.values(), (index, row) -> row);
  }

  /** Same as {@link #h5read}, under the name in H5Spark's Scala code. */
  public static JavaRDD<Object> h5read_array(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return h5read(spark, files, dataset, partitions);
  }

  /** Like {@link #h5read}, but returns the bytes of each row in the machine's byte order, for numpy arrays in Python. */
  public static JavaRDD<byte[]> h5read_bytes(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return of(spark, planned(files, dataset, partitions), row -> row.bytes(), (index, row) -> row);
  }

  /** Returns Spark's name for the type of a dataset's elements, such as {@code double}. */
  public static String element_type(Object files, String dataset) {
    return planned(files, dataset, null).elementType();
  }

  /** Returns {@code (value, key)} for each element; the key is its index among the elements of all files. */
  public static JavaRDD<Tuple2<Double, Long>> h5read_point(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return partitions(spark, rows)
        .mapPartitions(iterator -> new Points(rows.read(iterator.next()), rows.width()));
  }

  /** Like {@link #h5read_point}, but with each pair as an array, which Python reads as a tuple. */
  public static JavaRDD<Object[]> h5read_point_pairs(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return h5read_point(spark, files, dataset, partitions)
        .map(point -> new Object[] {point._1(), point._2()});
  }

  /** Returns the rows as dense vectors. */
  public static JavaRDD<Vector> h5read_vec(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return of(
        spark,
        planned(files, dataset, partitions),
        row -> row.doubles(),
        (index, row) -> Vectors.dense(row));
  }

  /**
   * Returns the rows as labeled points.
   *
   * @param label index of the column that is the label; an {@link InvalidInputException} fails the task if it is out of
   *     range
   */
  public static JavaRDD<LabeledPoint> h5read_labeled(
      SparkSession spark, Object files, String dataset, int label, Integer partitions) {
    return of(spark, planned(files, dataset, partitions), row -> row.doubles(), (index, values) -> {
      if (label < 0 || label >= values.length) {
        throw new InvalidInputException(
            "label column " + label + " is out of range: rows have " + values.length + " elements");
      }
      double[] features = new double[values.length - 1];
      System.arraycopy(values, 0, features, 0, label);
      System.arraycopy(values, label + 1, features, label, features.length - label);
      return new LabeledPoint(values[label], Vectors.dense(features));
    });
  }

  /** Returns the rows with their indexes. */
  public static JavaRDD<IndexedRow> h5read_irow(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return indexed(spark, planned(files, dataset, partitions));
  }

  /**
   * Returns the rows as an indexed row matrix.
   *
   * @throws UnsupportedException if the rows have more than 2147483647 elements
   */
  public static IndexedRowMatrix h5read_imat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return new IndexedRowMatrix(indexed(spark, rows).rdd(), rows.rows(), columns(rows));
  }

  /**
   * Returns the rows as a row matrix.
   *
   * @throws UnsupportedException if the rows have more than 2147483647 elements
   */
  public static RowMatrix h5read_rowmat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    JavaRDD<Vector> vectors =
        of(spark, rows, row -> row.doubles(), (index, row) -> Vectors.dense(row));
    return new RowMatrix(vectors.rdd(), rows.rows(), columns(rows));
  }

  /**
   * Returns the nonzero elements as a coordinate matrix with the rows and columns of the files.
   *
   * @throws UnsupportedException if the rows have more than 2147483647 elements
   */
  public static CoordinateMatrix h5read_coordmat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    JavaRDD<MatrixEntry> entries =
        partitions(spark, rows).mapPartitions(iterator -> new Entries(rows.read(iterator.next())));
    return new CoordinateMatrix(entries.rdd(), rows.rows(), columns(rows));
  }

  /**
   * Returns the rows as a block matrix with blocks of 1024 by 1024 elements, which is MLlib's default.
   *
   * @throws UnsupportedException if the rows have more than 2147483647 elements
   */
  public static BlockMatrix h5read_blockmat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return h5read_imat(spark, files, dataset, partitions).toBlockMatrix();
  }

  private static ArrayRows planned(Object files, String dataset, Integer partitions) {
    Object plain = files;
    if (files instanceof Tuple2) {
      plain = Collections.singletonList(pair(files));
    } else if (files instanceof List) {
      plain = ((List<?>) files).stream().map(H5Read::pair).collect(Collectors.toList());
    }
    return new ArrayRows(plain, dataset, partitions);
  }

  /** Converts a tuple to an array; returns other objects unchanged. */
  private static Object pair(Object one) {
    return one instanceof Tuple2
        ? new Object[] {((Tuple2<?, ?>) one)._1(), ((Tuple2<?, ?>) one)._2()}
        : one;
  }

  /** Takes the elements of a row, or of part of it, as a Java array. */
  private interface Elements<A> extends Function<ArrayRows.Row, A>, Serializable {}

  /** Makes an element of the result of a row's index and all of its elements. */
  private interface OfRow<A, T> extends BiFunction<Long, A, T>, Serializable {}

  private static JavaRDD<IndexedRow> indexed(SparkSession spark, ArrayRows rows) {
    return of(
        spark,
        rows,
        row -> row.doubles(),
        (index, row) -> new IndexedRow(index, Vectors.dense(row)));
  }

  /** The number of elements of a row, as the column count of a matrix. */
  private static int columns(ArrayRows rows) {
    if (rows.width() > Integer.MAX_VALUE) {
      throw new UnsupportedException("rows have " + rows.width()
          + " elements, but a matrix of MLlib has at most " + Integer.MAX_VALUE + " columns");
    }
    return (int) rows.width();
  }

  /** One element for each row, in order. If partitions have parts of rows, a shuffle puts the rows together. */
  private static <A, T> JavaRDD<T> of(
      SparkSession spark, ArrayRows rows, Elements<A> elements, OfRow<A, T> make) {
    JavaRDD<ArrayRows.Partition> partitions = partitions(spark, rows);
    return rows.isCut()
        ? WholeRows.of(partitions, rows, elements)
            .mapPartitions(iterator -> mapped(iterator, row -> make.apply(row._1(), row._2())))
        : partitions.mapPartitions(iterator ->
            mapped(rows.read(iterator.next()), row -> make.apply(row.index, elements.apply(row))));
  }

  private static <S, T> Iterator<T> mapped(Iterator<S> source, Function<S, T> make) {
    return new Iterator<T>() {
      @Override
      public boolean hasNext() {
        return source.hasNext();
      }

      @Override
      public T next() {
        return make.apply(source.next());
      }
    };
  }

  /** An RDD with one element per partition, so that each task reads its own splits. */
  private static JavaRDD<ArrayRows.Partition> partitions(SparkSession spark, ArrayRows rows) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return rows.partitions().isEmpty()
        ? context.emptyRDD()
        : context.parallelize(rows.partitions(), rows.partitions().size());
  }

  /** Iterates over the elements of rows. */
  private abstract static class OfElements<T> implements Iterator<T> {
    private final Iterator<ArrayRows.Row> rows;
    private long row;
    private long firstColumn;
    private double[] values = {};
    private int column;

    OfElements(Iterator<ArrayRows.Row> rows) {
      this.rows = rows;
    }

    abstract boolean accepts(double value);

    abstract T make(long row, long column, double value);

    @Override
    public boolean hasNext() {
      while (true) {
        while (column < values.length) {
          if (accepts(values[column])) {
            return true;
          }
          column++;
        }
        if (!rows.hasNext()) {
          return false;
        }
        ArrayRows.Row next = rows.next();
        row = next.index;
        firstColumn = next.firstColumn;
        values = next.doubles();
        column = 0;
      }
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      T made = make(row, firstColumn + column, values[column]);
      column++;
      return made;
    }
  }

  private static final class Points extends OfElements<Tuple2<Double, Long>> {
    private final long width;

    Points(Iterator<ArrayRows.Row> rows, long width) {
      super(rows);
      this.width = width;
    }

    @Override
    boolean accepts(double value) {
      return true;
    }

    @Override
    Tuple2<Double, Long> make(long row, long column, double value) {
      return new Tuple2<>(value, Math.addExact(Math.multiplyExact(row, width), column));
    }
  }

  private static final class Entries extends OfElements<MatrixEntry> {
    Entries(Iterator<ArrayRows.Row> rows) {
      super(rows);
    }

    @Override
    boolean accepts(double value) {
      return value != 0;
    }

    @Override
    MatrixEntry make(long row, long column, double value) {
      return new MatrixEntry(row, column, value);
    }
  }
}
