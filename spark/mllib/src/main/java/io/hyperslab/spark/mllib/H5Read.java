package io.hyperslab.spark.mllib;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.ArrayRows;
import java.io.Serializable;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
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
    return rows(spark, files, dataset, partitions, row -> row.values());
  }

  /** Same as {@link #h5read}, under the name in H5Spark's Scala code. */
  public static JavaRDD<Object> h5read_array(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return h5read(spark, files, dataset, partitions);
  }

  /** Like {@link #h5read}, but returns the bytes of each row in the machine's byte order, for numpy arrays in Python. */
  public static JavaRDD<byte[]> h5read_bytes(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return rows(spark, files, dataset, partitions, row -> row.bytes());
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
        .mapPartitions(iterator -> new Points(rows.read(iterator.next())));
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
    return rows(spark, files, dataset, partitions, row -> Vectors.dense(row.doubles()));
  }

  /**
   * Returns the rows as labeled points.
   *
   * @param label index of the column that is the label; an {@link InvalidInputException} fails the task if it is out of
   *     range
   */
  public static JavaRDD<LabeledPoint> h5read_labeled(
      SparkSession spark, Object files, String dataset, int label, Integer partitions) {
    return rows(spark, files, dataset, partitions, row -> {
      double[] values = row.doubles();
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
    return rows(spark, files, dataset, partitions, H5Read::indexed);
  }

  /**
   * Returns the rows as an indexed row matrix.
   *
   * @throws UnsupportedException if the rows have more than 2147483647 elements
   */
  public static IndexedRowMatrix h5read_imat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return new IndexedRowMatrix(of(spark, rows, H5Read::indexed).rdd(), rows.rows(), columns(rows));
  }

  /**
   * Returns the rows as a row matrix.
   *
   * @throws UnsupportedException if the rows have more than 2147483647 elements
   */
  public static RowMatrix h5read_rowmat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return new RowMatrix(
        of(spark, rows, row -> Vectors.dense(row.doubles())).rdd(), rows.rows(), columns(rows));
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

  private interface OfRow<T> extends Function<ArrayRows.Row, T>, Serializable {}

  private static IndexedRow indexed(ArrayRows.Row row) {
    return new IndexedRow(row.index, Vectors.dense(row.doubles()));
  }

  /** The number of elements of a row, as the column count of a matrix. */
  private static int columns(ArrayRows rows) {
    if (rows.width() > Integer.MAX_VALUE) {
      throw new UnsupportedException("rows have " + rows.width()
          + " elements, but a matrix of MLlib has at most " + Integer.MAX_VALUE + " columns");
    }
    return (int) rows.width();
  }

  private static <T> JavaRDD<T> rows(
      SparkSession spark, Object files, String dataset, Integer partitions, OfRow<T> make) {
    return of(spark, planned(files, dataset, partitions), make);
  }

  private static <T> JavaRDD<T> of(SparkSession spark, ArrayRows rows, OfRow<T> make) {
    return partitions(spark, rows).mapPartitions(iterator -> {
      Iterator<ArrayRows.Row> read = rows.read(iterator.next());
      return new Iterator<T>() {
        @Override
        public boolean hasNext() {
          return read.hasNext();
        }

        @Override
        public T next() {
          return make.apply(read.next());
        }
      };
    });
  }

  /** An RDD with one element per partition, so that each task reads its own splits. */
  private static JavaRDD<ArrayRows.Partition> partitions(SparkSession spark, ArrayRows rows) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return rows.partitions().isEmpty()
        ? context.emptyRDD()
        : context.parallelize(rows.partitions(), rows.partitions().size());
  }

  /** Iterates over the elements of rows. */
  private abstract static class Elements<T> implements Iterator<T> {
    private final Iterator<ArrayRows.Row> rows;
    private long row;
    private double[] values = {};
    private int column;

    Elements(Iterator<ArrayRows.Row> rows) {
      this.rows = rows;
    }

    abstract boolean accepts(double value);

    abstract T make(long row, int column, int width, double value);

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
        values = next.doubles();
        column = 0;
      }
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      T made = make(row, column, values.length, values[column]);
      column++;
      return made;
    }
  }

  private static final class Points extends Elements<Tuple2<Double, Long>> {
    Points(Iterator<ArrayRows.Row> rows) {
      super(rows);
    }

    @Override
    boolean accepts(double value) {
      return true;
    }

    @Override
    Tuple2<Double, Long> make(long row, int column, int width, double value) {
      return new Tuple2<>(value, Math.addExact(Math.multiplyExact(row, (long) width), column));
    }
  }

  private static final class Entries extends Elements<MatrixEntry> {
    Entries(Iterator<ArrayRows.Row> rows) {
      super(rows);
    }

    @Override
    boolean accepts(double value) {
      return value != 0;
    }

    @Override
    MatrixEntry make(long row, int column, int width, double value) {
      return new MatrixEntry(row, column, value);
    }
  }
}
