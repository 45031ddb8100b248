package io.hyperslab.spark;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;

/** The least and the greatest coordinate of a dimension of one file, as a catalog has them. */
final class CoordinateRange {
  private static final List<String> FIELDS =
      Arrays.asList("dim", "least", "most", "as_stored", "first_microseconds", "last_microseconds");

  /** Integers beyond this are not exact as doubles. */
  private static final long MAX_EXACT = 1L << 53;

  private final String dim;
  /** Bounds of the values that tables show, which may be null, too. */
  private final double least;

  private final double most;
  /** Whether the values are times, in microseconds since 1970. */
  private final boolean isTime;
  /** Whether the bounds are known. */
  private final boolean isKnown;

  /** @param range a value of the catalog's column {@code ranges} */
  CoordinateRange(Row range) {
    dim = range.getString(0);
    isTime = !range.isNullAt(4) && !range.isNullAt(5);
    isKnown = isTime || range.getBoolean(3);
    // Decoding may round by a microsecond.
    least = isTime ? range.getLong(4) - 1 : range.getDouble(1);
    most = isTime ? range.getLong(5) + 1 : range.getDouble(2);
  }

  /** Whether values of a type are lists of ranges. */
  static boolean isIn(DataType type) {
    return type instanceof ArrayType
        && ((ArrayType) type).elementType() instanceof StructType
        && Arrays.asList(((StructType) ((ArrayType) type).elementType()).fieldNames())
            .equals(FIELDS);
  }

  /**
   * Whether a predicate may be true for a row whose coordinates are in these ranges. Anything but comparisons of coordinates with
   * constants may be.
   *
   * @param types types of the table's columns that are in the files
   */
  static boolean mayMatch(
      List<CoordinateRange> ranges, Predicate predicate, Map<String, DataType> types) {
    Expression[] children = predicate.children();
    switch (predicate.name()) {
      case "AND":
        return mayMatch(ranges, (Predicate) children[0], types)
            && mayMatch(ranges, (Predicate) children[1], types);
      case "OR":
        return mayMatch(ranges, (Predicate) children[0], types)
            || mayMatch(ranges, (Predicate) children[1], types);
      case "IN":
        for (int i = 1; i < children.length; i++) {
          if (mayMatch(ranges, "=", children[0], children[i], types)) {
            return true;
          }
        }
        return children.length < 2;
      case "=":
      case "<":
      case "<=":
      case ">":
      case ">=":
        return children[1] instanceof Literal
            ? mayMatch(ranges, predicate.name(), children[0], children[1], types)
            : mayMatch(ranges, mirrored(predicate.name()), children[1], children[0], types);
      default:
        return true;
    }
  }

  private static String mirrored(String comparison) {
    return comparison.startsWith("<") ? comparison.replace('<', '>') : comparison.replace('>', '<');
  }

  private static boolean mayMatch(
      List<CoordinateRange> ranges,
      String comparison,
      Expression column,
      Expression constant,
      Map<String, DataType> types) {
    if (!(column instanceof NamedReference) || !(constant instanceof Literal)) {
      return true;
    }
    String[] names = ((NamedReference) column).fieldNames();
    DataType type = names.length == 1 ? types.get(names[0]) : null;
    Literal<?> literal = (Literal<?>) constant;
    if (type == null || !type.equals(literal.dataType())) {
      return true;
    }
    boolean isTime = type.equals(DataTypes.TimestampNTZType);
    double value = number(literal.value());
    for (CoordinateRange range : ranges) {
      if (names[0].equals(range.dim) && range.isKnown && range.isTime == isTime) {
        // Spark treats NaN as the greatest number.
        return Double.isNaN(value) || range.mayMatch(comparison, value);
      }
    }
    return true;
  }

  private boolean mayMatch(String comparison, double value) {
    switch (comparison) {
      case "<":
        return least < value;
      case "<=":
        return least <= value;
      case ">":
        return most > value;
      case ">=":
        return most >= value;
      default:
        return least <= value && value <= most;
    }
  }

  /** The value of a constant, or NaN if it is not exact as a double, as the microseconds of times before 1685 and after 2255. */
  private static double number(Object value) {
    if (value instanceof Long) {
      return exact((Long) value);
    }
    if (value instanceof Float || value instanceof Double) {
      return ((Number) value).doubleValue();
    }
    if (value instanceof Byte || value instanceof Short || value instanceof Integer) {
      return ((Number) value).intValue();
    }
    if (value instanceof Decimal && ((Decimal) value).scale() == 0) {
      double number = ((Decimal) value).toDouble();
      return Math.abs(number) < MAX_EXACT ? number : Double.NaN;
    }
    return Double.NaN;
  }

  private static double exact(long value) {
    return value > -MAX_EXACT && value < MAX_EXACT ? value : Double.NaN;
  }
}
