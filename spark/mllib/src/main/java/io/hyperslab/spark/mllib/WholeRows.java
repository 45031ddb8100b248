package io.hyperslab.spark.mllib;

import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.ArrayRows;
import java.io.Serializable;
import java.lang.reflect.Array;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaRDD;
import scala.Tuple2;

/** Puts rows together whose parts several tasks read. */
final class WholeRows {
  /** Maximum length of an array in common Java virtual machines. */
  private static final int MAX_LENGTH = Integer.MAX_VALUE - 8;

  private WholeRows() {}

  /** Puts consecutive rows into a partition. */
  private static final class Consecutive extends Partitioner {
    private static final long serialVersionUID = 1L;

    private final long rows;
    private final int partitions;

    Consecutive(long rows, int partitions) {
      this.rows = rows;
      this.partitions = partitions;
    }

    @Override
    public int numPartitions() {
      return partitions;
    }

    @Override
    public int getPartition(Object index) {
      return (int) (((Long) index).doubleValue() / rows * partitions);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Consecutive
          && ((Consecutive) other).rows == rows
          && ((Consecutive) other).partitions == partitions;
    }

    @Override
    public int hashCode() {
      return Long.hashCode(rows) + partitions;
    }
  }

  /** Elements of a row, as a Java array that has equally many items for each element. */
  private static final class Part<A> implements Serializable {
    private static final long serialVersionUID = 1L;

    final long firstColumn;
    final int columns;
    final A items;

    Part(long firstColumn, int columns, A items) {
      this.firstColumn = firstColumn;
      this.columns = columns;
      this.items = items;
    }
  }

  /**
   * Returns each row's index and all of its elements, in order.
   *
   * <p>An {@link UnsupportedException} fails the task if a row is more than a Java array can hold.
   *
   * @param elements takes the elements of a part of a row as a Java array, which has equally many items for each element
   */
  static <A, F extends Function<ArrayRows.Row, A> & Serializable> JavaRDD<Tuple2<Long, A>> of(
      JavaRDD<ArrayRows.Partition> partitions, ArrayRows rows, F elements) {
    int count = (int) Math.max(1, Math.min(rows.rows(), partitions.getNumPartitions()));
    return partitions
        .mapPartitionsToPair(iterator -> {
          Iterator<ArrayRows.Row> parts = rows.read(iterator.next());
          return new Iterator<Tuple2<Long, Part<A>>>() {
            @Override
            public boolean hasNext() {
              return parts.hasNext();
            }

            @Override
            public Tuple2<Long, Part<A>> next() {
              ArrayRows.Row part = parts.next();
              return new Tuple2<>(
                  part.index, new Part<>(part.firstColumn, part.columns(), elements.apply(part)));
            }
          };
        })
        .repartitionAndSortWithinPartitions(new Consecutive(rows.rows(), count))
        .mapPartitions(iterator -> new Joined<>(iterator, rows.width()));
  }

  /** Joins the parts of each row. Parts of one row follow each other. */
  private static final class Joined<A> implements Iterator<Tuple2<Long, A>> {
    private final Iterator<Tuple2<Long, Part<A>>> parts;
    private final long width;

    Joined(Iterator<Tuple2<Long, Part<A>>> parts, long width) {
      this.parts = parts;
      this.width = width;
    }

    @Override
    public boolean hasNext() {
      return parts.hasNext();
    }

    @Override
    public Tuple2<Long, A> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Tuple2<Long, Part<A>> part = parts.next();
      A row = rowFor(part._2());
      long missing = width;
      while (true) {
        Part<A> from = part._2();
        int length = Array.getLength(from.items);
        int first = (int) (from.firstColumn * (length / from.columns));
        System.arraycopy(from.items, 0, row, first, length);
        missing -= from.columns;
        if (missing <= 0) {
          return new Tuple2<>(part._1(), row);
        }
        part = parts.next();
      }
    }

    /** An array of the type of a part for a whole row. */
    @SuppressWarnings("unchecked")
    private A rowFor(Part<A> part) {
      long length = width * (Array.getLength(part.items) / part.columns);
      if (length > MAX_LENGTH) {
        throw new UnsupportedException(
            "a row has " + width + " elements, more than a Java array can hold");
      }
      return (A) Array.newInstance(part.items.getClass().getComponentType(), (int) length);
    }
  }
}
