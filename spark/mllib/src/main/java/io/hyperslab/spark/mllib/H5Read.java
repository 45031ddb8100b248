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
 * Datasets as the structures of MLlib, under the names that H5Spark gave them. A row is an index of the first
 * dimension, the rest of the dimensions lie flat in it. Rows are numbered from 0 on through all files, in the order of
 * files and rows, whatever the partitions.
 *
 * <p>{@code files} is a file, a glob, a folder or a list of files, or a {@code java.util.List} (an array) of these, in
 * which {@code {file, dataset}} pairs may stand, as arrays or as {@code scala.Tuple2}; one such tuple alone, too. {@code dataset} is null if the files come with their datasets, and
 * {@code partitions} (the maximum number) is null to choose it by the sizes.
 */
public final class H5Read {
  private H5Read() {}

  /** Rows as arrays in the file's own type ({@code int[]}, {@code double[]} …). */
  public static JavaRDD<Object> h5read(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return rows(spark, files, dataset, partitions, row -> row.values());
  }

  /** As {@link #h5read}: the name in H5Spark's Scala code. */
  public static JavaRDD<Object> h5read_array(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return h5read(spark, files, dataset, partitions);
  }

  /** As {@link #h5read}, the elements' bytes in this machine's order: what Python makes arrays of without a loop. */
  public static JavaRDD<byte[]> h5read_bytes(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return rows(spark, files, dataset, partitions, row -> row.bytes());
  }

  /** Spark's name for the type of a dataset's elements. */
  public static String element_type(Object files, String dataset) {
    return planned(files, dataset, null).elementType();
  }

  /** Each element with its number among the elements of all files: {@code (value, key)}. */
  public static JavaRDD<Tuple2<Double, Long>> h5read_point(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return partitions(spark, rows).mapPartitions(parts -> new Points(rows.read(parts.next())));
  }

  /** As {@link #h5read_point}, each pair as an array, which Python takes for a tuple. */
  public static JavaRDD<Object[]> h5read_point_pairs(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return h5read_point(spark, files, dataset, partitions)
        .map(point -> new Object[] {point._1(), point._2()});
  }

  /** Rows as dense vectors. */
  public static JavaRDD<Vector> h5read_vec(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return rows(spark, files, dataset, partitions, row -> Vectors.dense(row.doubles()));
  }

  /** Rows as labelled points; {@code label} is the number of the column that is the label. */
  public static JavaRDD<LabeledPoint> h5read_labeled(
      SparkSession spark, Object files, String dataset, int label, Integer partitions) {
    return rows(spark, files, dataset, partitions, row -> {
      double[] values = row.doubles();
      if (label < 0 || label >= values.length) {
        throw new InvalidInputException(
            "label is column " + label + " of rows of " + values.length);
      }
      double[] features = new double[values.length - 1];
      System.arraycopy(values, 0, features, 0, label);
      System.arraycopy(values, label + 1, features, label, features.length - label);
      return new LabeledPoint(values[label], Vectors.dense(features));
    });
  }

  /** Rows with their numbers. */
  public static JavaRDD<IndexedRow> h5read_irow(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    return rows(spark, files, dataset, partitions, H5Read::indexed);
  }

  public static IndexedRowMatrix h5read_imat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return new IndexedRowMatrix(of(spark, rows, H5Read::indexed).rdd(), rows.rows(), columns(rows));
  }

  public static RowMatrix h5read_rowmat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    return new RowMatrix(
        of(spark, rows, row -> Vectors.dense(row.doubles())).rdd(), rows.rows(), columns(rows));
  }

  /** Elements that are not zero, in a matrix of the files' rows and columns. */
  public static CoordinateMatrix h5read_coordmat(
      SparkSession spark, Object files, String dataset, Integer partitions) {
    ArrayRows rows = planned(files, dataset, partitions);
    JavaRDD<MatrixEntry> entries =
        partitions(spark, rows).mapPartitions(parts -> new Entries(rows.read(parts.next())));
    return new CoordinateMatrix(entries.rdd(), rows.rows(), columns(rows));
  }

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

  /** A tuple as an array; what is none stays as it is. */
  private static Object pair(Object one) {
    return one instanceof Tuple2
        ? new Object[] {((Tuple2<?, ?>) one)._1(), ((Tuple2<?, ?>) one)._2()}
        : one;
  }

  private interface OfRow<T> extends Function<ArrayRows.Row, T>, Serializable {}

  private static IndexedRow indexed(ArrayRows.Row row) {
    return new IndexedRow(row.number, Vectors.dense(row.doubles()));
  }

  /** Elements of a row, as matrices count them. */
  private static int columns(ArrayRows rows) {
    if (rows.width() > Integer.MAX_VALUE) {
      throw new UnsupportedException("rows of " + rows.width()
          + " elements in a matrix of MLlib, which has " + Integer.MAX_VALUE + " columns at most");
    }
    return (int) rows.width();
  }

  private static <T> JavaRDD<T> rows(
      SparkSession spark, Object files, String dataset, Integer partitions, OfRow<T> make) {
    return of(spark, planned(files, dataset, partitions), make);
  }

  private static <T> JavaRDD<T> of(SparkSession spark, ArrayRows rows, OfRow<T> make) {
    return partitions(spark, rows).mapPartitions(parts -> {
      Iterator<ArrayRows.Row> read = rows.read(parts.next());
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

  /** One element a partition, so that each task reads its own splits. */
  private static JavaRDD<ArrayRows.Part> partitions(SparkSession spark, ArrayRows rows) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return rows.parts().isEmpty()
        ? context.emptyRDD()
        : context.parallelize(rows.parts(), rows.parts().size());
  }

  /** Goes through the elements of rows. */
  private abstract static class Elements<T> implements Iterator<T> {
    private final Iterator<ArrayRows.Row> rows;
    private long row;
    private double[] values = {};
    private int place;

    Elements(Iterator<ArrayRows.Row> rows) {
      this.rows = rows;
    }

    abstract boolean wanted(double value);

    abstract T make(long row, int place, int width, double value);

    @Override
    public boolean hasNext() {
      while (true) {
        while (place < values.length) {
          if (wanted(values[place])) {
            return true;
          }
          place++;
        }
        if (!rows.hasNext()) {
          return false;
        }
        ArrayRows.Row next = rows.next();
        row = next.number;
        values = next.doubles();
        place = 0;
      }
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      T made = make(row, place, values.length, values[place]);
      place++;
      return made;
    }
  }

  private static final class Points extends Elements<Tuple2<Double, Long>> {
    Points(Iterator<ArrayRows.Row> rows) {
      super(rows);
    }

    @Override
    boolean wanted(double value) {
      return true;
    }

    @Override
    Tuple2<Double, Long> make(long row, int place, int width, double value) {
      return new Tuple2<>(value, Math.addExact(Math.multiplyExact(row, (long) width), place));
    }
  }

  private static final class Entries extends Elements<MatrixEntry> {
    Entries(Iterator<ArrayRows.Row> rows) {
      super(rows);
    }

    @Override
    boolean wanted(double value) {
      return value != 0;
    }

    @Override
    MatrixEntry make(long row, int place, int width, double value) {
      return new MatrixEntry(row, place, value);
    }
  }
}
