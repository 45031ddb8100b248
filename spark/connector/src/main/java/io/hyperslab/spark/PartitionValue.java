package io.hyperslab.spark;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/** Infers the types of partition values by Spark's rules, and converts them to Spark's internal representation. */
final class PartitionValue {
  static final String HIVE_NULL = "__HIVE_DEFAULT_PARTITION__";

  private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");
  private static final Pattern NUMBER =
      Pattern.compile("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(NaN|Infinity)");
  private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  private static final Pattern TIME =
      Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9])?");
  private static final int DECIMAL_DIGITS = 38;
  private static final int LONG_DIGITS = 20;
  private static final int INTEGER_DIGITS = 10;

  private PartitionValue() {}

  /** The narrowest type of a value, or null if the value is null. */
  static DataType typeOf(String value) {
    if (value == null) {
      return null;
    }
    if (!SQLConf.get().partitionColumnTypeInferenceEnabled()) {
      return DataTypes.StringType;
    }
    if (INTEGER.matcher(value).matches()) {
      BigDecimal number = new BigDecimal(value);
      if (number.abs().compareTo(BigDecimal.valueOf(Integer.MAX_VALUE)) <= 0
          || number.equals(BigDecimal.valueOf(Integer.MIN_VALUE))) {
        return DataTypes.IntegerType;
      } else if (number.abs().compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) <= 0
          || number.equals(BigDecimal.valueOf(Long.MIN_VALUE))) {
        return DataTypes.LongType;
      }
      return decimalOrDouble(number);
    } else if (NUMBER.matcher(value).matches()) {
      return value.endsWith("N") || value.endsWith("y")
          ? DataTypes.DoubleType
          : decimalOrDouble(new BigDecimal(value));
    } else if (DATE.matcher(value).matches() && date(value) != null) {
      return DataTypes.DateType;
    } else if (TIME.matcher(value).matches() && time(value) != null) {
      return DataTypes.TimestampType;
    }
    return DataTypes.StringType;
  }

  /** As in Spark, 1e3 is a decimal and 1.5 a double. */
  private static DataType decimalOrDouble(BigDecimal number) {
    int digits =
        number.scale() <= 0 ? Math.max(1, number.precision() - number.scale()) : Integer.MAX_VALUE;
    return digits <= DECIMAL_DIGITS ? DataTypes.createDecimalType(digits, 0) : DataTypes.DoubleType;
  }

  /** Precision of the decimals that hold the values of an integer or decimal type. */
  private static int digits(DataType type) {
    return type instanceof DecimalType
        ? ((DecimalType) type).precision()
        : type.equals(DataTypes.LongType) ? LONG_DIGITS : INTEGER_DIGITS;
  }

  /** The narrowest type that holds the values of both; either may be null. */
  static DataType wider(DataType a, DataType b) {
    if (a == null || b == null || a.equals(b)) {
      return a == null ? b : a;
    }
    int rank = Math.max(rank(a), rank(b));
    if (Math.min(rank(a), rank(b)) < 0) {
      boolean times = (a.equals(DataTypes.DateType) && b.equals(DataTypes.TimestampType))
          || (b.equals(DataTypes.DateType) && a.equals(DataTypes.TimestampType));
      return times ? DataTypes.TimestampType : DataTypes.StringType;
    }
    if (rank < rank(DataTypes.DoubleType)
        && (a instanceof DecimalType || b instanceof DecimalType)) {
      return DataTypes.createDecimalType(Math.max(digits(a), digits(b)), 0);
    }
    // A double holds 32-bit integers exactly, but not 64-bit ones.
    boolean isLossy = rank == rank(DataTypes.DoubleType)
        && !a.equals(DataTypes.IntegerType)
        && !b.equals(DataTypes.IntegerType);
    return isLossy ? DataTypes.StringType : rank(a) == rank ? a : b;
  }

  private static int rank(DataType type) {
    return type.equals(DataTypes.IntegerType)
        ? 0
        : type.equals(DataTypes.LongType)
            ? 1
            : type instanceof DecimalType ? 2 : type.equals(DataTypes.DoubleType) ? 3 : -1;
  }

  /** The type of a column: string if every value is null, as in Spark. */
  static DataType orText(DataType type) {
    return type == null ? DataTypes.StringType : type;
  }

  static boolean isText(DataType type) {
    return type instanceof StringType;
  }

  /** Whether values of a type can be the names of partition folders. */
  static boolean isType(DataType type) {
    return isText(type)
        || type instanceof DecimalType
        || Arrays.asList(
                DataTypes.BooleanType,
                DataTypes.ByteType,
                DataTypes.ShortType,
                DataTypes.IntegerType,
                DataTypes.LongType,
                DataTypes.FloatType,
                DataTypes.DoubleType,
                DataTypes.DateType,
                DataTypes.TimestampType,
                DataTypes.TimestampNTZType)
            .contains(type);
  }

  /** Whether a text is a value of a type, without loss. */
  static boolean isValue(String value, DataType type) {
    try {
      return isType(type) && (value == null || of(value, type) != null);
    } catch (ArithmeticException | IllegalArgumentException error) {
      return false;
    }
  }

  /**
   * Converts a value to Spark's internal representation; null stays null, and a text that is not a date or time becomes null.
   *
   * @throws ArithmeticException if the type has too few digits for the value
   * @throws IllegalArgumentException if the text is not a value of the type
   */
  static Object of(String value, DataType type) {
    if (value == null) {
      return null;
    } else if (isText(type)) {
      return UTF8String.fromString(value);
    } else if (type.equals(DataTypes.IntegerType)) {
      return Integer.parseInt(value);
    } else if (type.equals(DataTypes.LongType)) {
      return Long.parseLong(value);
    } else if (type.equals(DataTypes.ShortType)) {
      return Short.parseShort(value);
    } else if (type.equals(DataTypes.ByteType)) {
      return Byte.parseByte(value);
    } else if (type.equals(DataTypes.BooleanType)) {
      return bool(value);
    } else if (type instanceof DecimalType) {
      return decimal(new BigDecimal(value), (DecimalType) type);
    } else if (type.equals(DataTypes.DoubleType)) {
      return Double.parseDouble(value);
    } else if (type.equals(DataTypes.FloatType)) {
      return Float.parseFloat(value);
    } else if (type.equals(DataTypes.DateType)) {
      LocalDate date = date(value);
      return date == null ? null : Math.toIntExact(date.toEpochDay());
    }
    LocalDate date = date(value);
    LocalDateTime time = date == null ? time(value) : date.atStartOfDay();
    if (time == null) {
      return null;
    }
    ZoneId zone = type.equals(DataTypes.TimestampNTZType)
        ? ZoneOffset.UTC
        : ZoneId.of(SQLConf.get().sessionLocalTimeZone(), ZoneId.SHORT_IDS);
    return ChronoUnit.MICROS.between(java.time.Instant.EPOCH, time.atZone(zone).toInstant());
  }

  private static boolean bool(String value) {
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException(value);
    }
    return value.equals("true");
  }

  private static Decimal decimal(BigDecimal value, DecimalType type) {
    BigDecimal exact = value.setScale(type.scale());
    if (exact.precision() > type.precision()) {
      throw new ArithmeticException(value.toString());
    }
    return Decimal.apply(exact, type.precision(), type.scale());
  }

  private static LocalDate date(String value) {
    try {
      return LocalDate.parse(value, DateTimeFormatter.ISO_LOCAL_DATE);
    } catch (DateTimeException error) {
      // An invalid date such as 2024-02-30 is a string.
      return null;
    }
  }

  private static LocalDateTime time(String value) {
    try {
      return LocalDateTime.parse(value.replace(' ', 'T'), DateTimeFormatter.ISO_LOCAL_DATE_TIME);
    } catch (DateTimeException error) {
      return null;
    }
  }
}
