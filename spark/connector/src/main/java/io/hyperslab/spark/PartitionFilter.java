package io.hyperslab.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Evaluates Spark's predicates on partition columns for each file. */
final class PartitionFilter {
  /** The result of a predicate in SQL's three-valued logic. */
  private enum Truth {
    TRUE,
    FALSE,
    NULL;

    static Truth of(boolean value) {
      return value ? TRUE : FALSE;
    }
  }

  private final PartitionFolders folders;
  private final Map<String, StructField> columns = new HashMap<>();

  PartitionFilter(PartitionFolders folders, StructType table) {
    this.folders = folders;
    for (StructField field : table.fields()) {
      if (folders.folderName(field) != null) {
        columns.put(field.name(), field);
      }
    }
  }

  /** The partition folders that provide the values. */
  PartitionFolders folders() {
    return folders;
  }

  /** Whether partition values determine the predicate exactly as Spark would. */
  boolean canEvaluate(Predicate predicate) {
    Expression[] children = predicate.children();
    switch (predicate.name()) {
      case "AND":
      case "OR":
        return canEvaluate((Predicate) children[0]) && canEvaluate((Predicate) children[1]);
      case "NOT":
        return children[0] instanceof Predicate && canEvaluate((Predicate) children[0]);
      case "IS_NULL":
      case "IS_NOT_NULL":
        return column(children[0]) != null;
      case "IN":
        for (int i = 1; i < children.length; i++) {
          if (!comparable(children[0], children[i])) {
            return false;
          }
        }
        return children.length > 1;
      case "=":
      case "<=>":
      case "<>":
      case "<":
      case "<=":
      case ">":
      case ">=":
        return children.length == 2
            && (comparable(children[0], children[1]) || comparable(children[1], children[0]));
      default:
        return false;
    }
  }

  /** Whether the rows of a file match a predicate that {@link #canEvaluate} accepts. */
  boolean matches(InputFile file, Predicate predicate) {
    return evaluate(file, predicate) == Truth.TRUE;
  }

  private StructField column(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] names = ((NamedReference) expression).fieldNames();
    return names.length == 1 ? columns.get(names[0]) : null;
  }

  private boolean comparable(Expression left, Expression right) {
    StructField column = column(left);
    return column != null
        && right instanceof Literal
        && ((Literal<?>) right).dataType().equals(column.dataType());
  }

  private Truth evaluate(InputFile file, Predicate predicate) {
    Expression[] children = predicate.children();
    switch (predicate.name()) {
      case "AND":
        return combine(
            evaluate(file, (Predicate) children[0]),
            evaluate(file, (Predicate) children[1]),
            Truth.FALSE);
      case "OR":
        return combine(
            evaluate(file, (Predicate) children[0]),
            evaluate(file, (Predicate) children[1]),
            Truth.TRUE);
      case "NOT":
        Truth inner = evaluate(file, (Predicate) children[0]);
        return inner == Truth.NULL ? inner : Truth.of(inner == Truth.FALSE);
      case "IS_NULL":
        return Truth.of(folders.value(file, column(children[0])) == null);
      case "IS_NOT_NULL":
        return Truth.of(folders.value(file, column(children[0])) != null);
      case "IN":
        Truth any = Truth.FALSE;
        for (int i = 1; i < children.length; i++) {
          any = combine(
              any,
              compare(
                  "=",
                  folders.value(file, column(children[0])),
                  ((Literal<?>) children[i]).value()),
              Truth.TRUE);
        }
        return any;
      default:
        boolean swapped = column(children[0]) == null;
        Object value = folders.value(file, column(children[swapped ? 1 : 0]));
        Object literal = ((Literal<?>) children[swapped ? 0 : 1]).value();
        return swapped
            ? compare(predicate.name(), literal, value)
            : compare(predicate.name(), value, literal);
    }
  }

  /** Evaluates {@code and} and {@code or}: {@code decisive} if either operand is, else null if either is null. */
  private static Truth combine(Truth a, Truth b, Truth decisive) {
    if (a == decisive || b == decisive) {
      return decisive;
    }
    return a == Truth.NULL || b == Truth.NULL ? Truth.NULL : a;
  }

  /** Compares internal values of one type. As in Spark and Java, NaN equals itself and is greater than every number. */
  @SuppressWarnings("unchecked")
  private static Truth compare(String comparison, Object a, Object b) {
    if (a == null || b == null) {
      return comparison.equals("<=>") ? Truth.of(a == b) : Truth.NULL;
    }
    int order = ((Comparable<Object>) withoutSign(a)).compareTo(withoutSign(b));
    switch (comparison) {
      case "=":
      case "<=>":
        return Truth.of(order == 0);
      case "<>":
        return Truth.of(order != 0);
      case "<":
        return Truth.of(order < 0);
      case "<=":
        return Truth.of(order <= 0);
      case ">":
        return Truth.of(order > 0);
      default:
        return Truth.of(order >= 0);
    }
  }

  /** Java treats -0.0 as less than 0.0; Spark treats them as equal. */
  private static Object withoutSign(Object value) {
    return value.equals(-0.0)
        ? Double.valueOf(0.0)
        : value.equals(-0.0f) ? Float.valueOf(0f) : value;
  }
}
