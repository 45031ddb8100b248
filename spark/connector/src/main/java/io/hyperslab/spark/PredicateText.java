package io.hyperslab.spark;

import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * Translates Spark's predicates to Hyperslab's grammar, if the result means exactly the same. Spark treats NaN as equal to
 * itself and greater than every i; Hyperslab treats NaN as unequal to everything, so {@code x != x} finds NaN.
 */
final class PredicateText {
  private static final String[] COMPARISONS = {"=", "<>", "<", "<=", ">", ">="};

  private static final long DAY_MICROSECONDS = 86_400_000_000L;
  /** Limit of days since 1970 whose microseconds fit into 64 bits. */
  private static final long MAX_DAYS = 100_000_000L;

  private final Map<String, DataType> types;

  /** @param types types of the columns that predicates can use */
  PredicateText(Map<String, DataType> types) {
    this.types = types;
  }

  /** The text of a predicate, or null if it has no exact equivalent. */
  String of(Predicate predicate) {
    Expression[] children = predicate.children();
    switch (predicate.name()) {
      case "AND":
      case "OR":
        return joined(
            predicate.name().toLowerCase(java.util.Locale.ROOT),
            (Predicate) children[0],
            (Predicate) children[1]);
      case "NOT":
        String inner = children[0] instanceof Predicate ? of((Predicate) children[0]) : null;
        return inner == null ? null : "not " + inner;
      case "IS_NULL":
        return nullTest(children[0], " is null");
      case "IS_NOT_NULL":
        return nullTest(children[0], " is not null");
      case "IN":
        return in(children);
      default:
        for (String comparison : COMPARISONS) {
          if (comparison.equals(predicate.name()) && children.length == 2) {
            return comparison(comparison, children[0], children[1]);
          }
        }
        return null;
    }
  }

  private String joined(String word, Predicate left, Predicate right) {
    String a = of(left);
    String b = of(right);
    return a == null || b == null ? null : "(" + a + " " + word + " " + b + ")";
  }

  private String nullTest(Expression column, String test) {
    String name = name(column);
    return name == null ? null : "(" + quoted(name) + test + ")";
  }

  private String in(Expression[] children) {
    List<String> tests = new ArrayList<>();
    for (int i = 1; i < children.length; i++) {
      String test = comparison("=", children[0], children[i]);
      if (test == null) {
        return null;
      }
      tests.add(test);
    }
    return tests.isEmpty() ? null : "(" + String.join(" or ", tests) + ")";
  }

  private String comparison(String comparison, Expression left, Expression right) {
    if (left instanceof Literal && right instanceof NamedReference) {
      String swapped = comparison.replace('<', '?').replace('>', '<').replace('?', '>');
      return comparison(comparison.equals("<>") ? comparison : swapped, right, left);
    }
    String name = name(left);
    if (name == null || !(right instanceof Literal)) {
      return null;
    }
    Literal<?> literal = (Literal<?>) right;
    if (literal.value() == null || !literal.dataType().equals(types.get(name))) {
      return null;
    }
    String column = quoted(name);
    if (literal.value() instanceof Double || literal.value() instanceof Float) {
      return floating(comparison, column, ((Number) literal.value()).doubleValue());
    }
    String constant = constant(literal);
    return constant == null ? null : "(" + column + " " + comparison + " " + constant + ")";
  }

  private static String floating(String comparison, String column, double value) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      return null;
    }
    String test = column + " " + comparison + " " + new BigDecimal(value).toString();
    return comparison.startsWith(">")
        ? "(" + test + " or " + column + " != " + column + ")"
        : "(" + test + ")";
  }

  private static String constant(Literal<?> literal) {
    DataType type = literal.dataType();
    Object value = literal.value();
    if (type.equals(DataTypes.BooleanType)
        || type.equals(DataTypes.ByteType)
        || type.equals(DataTypes.ShortType)
        || type.equals(DataTypes.IntegerType)
        || type.equals(DataTypes.LongType)) {
      return value.toString();
    }
    if (type instanceof DecimalType && value instanceof Decimal) {
      return ((Decimal) value).toJavaBigDecimal().toPlainString();
    }
    if (type.equals(DataTypes.StringType)) {
      return "'" + value.toString().replace("'", "''") + "'";
    }
    boolean date = type.equals(DataTypes.DateType);
    if (date || type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)) {
      // Hyperslab's times are in UTC, as Spark's instants are. A date is its midnight.
      if (date && Math.abs(((Integer) value).longValue()) > MAX_DAYS) {
        return null;
      }
      long micros = date ? (Integer) value * DAY_MICROSECONDS : (Long) value;
      LocalDateTime time = LocalDateTime.ofEpochSecond(
          Math.floorDiv(micros, 1_000_000L),
          (int) Math.floorMod(micros, 1_000_000L) * 1000,
          ZoneOffset.UTC);
      // Only years of four digits have a text that both sides read alike.
      return time.getYear() < 1 || time.getYear() > 9999 ? null : "'" + time.toString() + "'";
    }
    return null;
  }

  private String name(Expression column) {
    if (!(column instanceof NamedReference)) {
      return null;
    }
    String[] names = ((NamedReference) column).fieldNames();
    return names.length == 1 && types.containsKey(names[0]) ? names[0] : null;
  }

  private static String quoted(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }
}
