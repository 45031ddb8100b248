package io.hyperslab.spark.vectors;

import java.time.LocalDate;
import java.time.temporal.ChronoField;
import java.time.temporal.IsoFields;
import java.time.temporal.TemporalField;
import java.util.Locale;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Parts of a {@code timestamp_ntz} that Spark groups by, called as in Spark's {@code Extract}. */
public enum TimePart {
  YEAR(ChronoField.YEAR),
  QUARTER(IsoFields.QUARTER_OF_YEAR),
  MONTH(ChronoField.MONTH_OF_YEAR),
  DAY(ChronoField.DAY_OF_MONTH),
  DAY_OF_YEAR(ChronoField.DAY_OF_YEAR),
  HOUR(null);

  private static final String COLUMN = "hyperslab.column";
  private static final String PART = "hyperslab.part";

  private static final long HOUR_MICROSECONDS = 3_600_000_000L;
  private static final long DAY_MICROSECONDS = 24 * HOUR_MICROSECONDS;

  /** The field of dates; null if the part follows from the time of the day. */
  private final TemporalField field;

  TimePart(TemporalField field) {
    this.field = field;
  }

  /** Whether Spark takes the part of a date. */
  public boolean isOfDates() {
    return field != null;
  }

  /** A field with the part of the times in a column. */
  public StructField of(String column) {
    String name = name().toLowerCase(Locale.ROOT) + "(" + column + ")";
    Metadata source =
        new MetadataBuilder().putString(COLUMN, column).putString(PART, name()).build();
    return new StructField(name, DataTypes.IntegerType, true, source);
  }

  /** A field with the dates of the times in a column. */
  public static StructField dateOf(String column) {
    Metadata source = new MetadataBuilder().putString(COLUMN, column).build();
    return new StructField("date(" + column + ")", DataTypes.DateType, true, source);
  }

  /** The column of a batch that has the values of a field. */
  static String columnOf(StructField field) {
    return field.metadata().contains(COLUMN) ? field.metadata().getString(COLUMN) : field.name();
  }

  /** The part that a field has; null if it has whole values. */
  static TimePart of(StructField field) {
    return field.metadata().contains(PART) ? valueOf(field.metadata().getString(PART)) : null;
  }

  /** The part of each time. */
  ColumnVector of(ColumnVector times, int rows) {
    OnHeapColumnVector parts = new OnHeapColumnVector(rows, DataTypes.IntegerType);
    for (int row = 0; row < rows; row++) {
      if (times.isNullAt(row)) {
        parts.putNull(row);
      } else {
        parts.putInt(row, of(times.getLong(row)));
      }
    }
    return parts;
  }

  /** The part of a time in microseconds since 1970. */
  int of(long time) {
    return field == null
        ? (int) (Math.floorMod(time, DAY_MICROSECONDS) / HOUR_MICROSECONDS)
        : LocalDate.ofEpochDay(Math.floorDiv(time, DAY_MICROSECONDS)).get(field);
  }
}
