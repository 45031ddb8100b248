package io.hyperslab.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Spark's predicates on columns of folders, answered for each file from the names of its folders. */
final class PartitionFilter {
  /** What SQL knows of a comparison with null. */
  private enum Answer {
    TRUE,
    FALSE,
    NULL;

    static Answer of(boolean value) {
      return value ? TRUE : FALSE;
    }
  }

  private final PartitionFolders folders;
  private final Map<String, StructField> columns = new HashMap<>();

  PartitionFilter(PartitionFolders folders, StructType table) {
    this.folders = folders;
    for (StructField field : table.fields()) {
      if (folders.folderOf(field) != null) {
        columns.put(field.name(), field);
      }
    }
  }

  /** The folders that it asks. */
  PartitionFolders folders() {
    return folders;
  }

  /** Whether the names of folders answer it exactly as Spark would. */
  boolean answers(Predicate predicate) {
    Expression[] parts = predicate.children();
    switch (predicate.name()) {
      case "AND":
      case "OR":
        return answers((Predicate) parts[0]) && answers((Predicate) parts[1]);
      case "NOT":
        return parts[0] instanceof Predicate && answers((Predicate) parts[0]);
      case "IS_NULL":
      case "IS_NOT_NULL":
        return column(parts[0]) != null;
      case "IN":
        for (int i = 1; i < parts.length; i++) {
          if (!comparable(parts[0], parts[i])) {
            return false;
          }
        }
        return parts.length > 1;
      case "=":
      case "<>":
      case "<":
      case "<=":
      case ">":
      case ">=":
        return parts.length == 2
            && (comparable(parts[0], parts[1]) || comparable(parts[1], parts[0]));
      default:
        return false;
    }
  }

  /** Whether rows of the file pass a predicate that {@link #answers}. */
  boolean passes(InputFile file, Predicate predicate) {
    return answer(file, predicate) == Answer.TRUE;
  }

  private StructField column(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] parts = ((NamedReference) expression).fieldNames();
    return parts.length == 1 ? columns.get(parts[0]) : null;
  }

  private boolean comparable(Expression left, Expression right) {
    StructField column = column(left);
    return column != null
        && right instanceof Literal
        && ((Literal<?>) right).dataType().equals(column.dataType());
  }

  private Answer answer(InputFile file, Predicate predicate) {
    Expression[] parts = predicate.children();
    switch (predicate.name()) {
      case "AND":
        return both(
            answer(file, (Predicate) parts[0]), answer(file, (Predicate) parts[1]), Answer.FALSE);
      case "OR":
        return both(
            answer(file, (Predicate) parts[0]), answer(file, (Predicate) parts[1]), Answer.TRUE);
      case "NOT":
        Answer inner = answer(file, (Predicate) parts[0]);
        return inner == Answer.NULL ? inner : Answer.of(inner == Answer.FALSE);
      case "IS_NULL":
        return Answer.of(folders.value(file, column(parts[0])) == null);
      case "IS_NOT_NULL":
        return Answer.of(folders.value(file, column(parts[0])) != null);
      case "IN":
        Answer any = Answer.FALSE;
        for (int i = 1; i < parts.length; i++) {
          any = both(
              any,
              compared("=", folders.value(file, column(parts[0])), ((Literal<?>) parts[i]).value()),
              Answer.TRUE);
        }
        return any;
      default:
        boolean mirrored = column(parts[0]) == null;
        Object value = folders.value(file, column(parts[mirrored ? 1 : 0]));
        Object literal = ((Literal<?>) parts[mirrored ? 0 : 1]).value();
        return mirrored
            ? compared(predicate.name(), literal, value)
            : compared(predicate.name(), value, literal);
    }
  }

  /** {@code and} and {@code or}: one {@code decisive} answer is enough, else a null decides. */
  private static Answer both(Answer a, Answer b, Answer decisive) {
    if (a == decisive || b == decisive) {
      return decisive;
    }
    return a == Answer.NULL || b == Answer.NULL ? Answer.NULL : a;
  }

  /** Values of one type in Spark's own form; NaN is equal to itself and above all numbers there, as in Java. */
  @SuppressWarnings("unchecked")
  private static Answer compared(String comparison, Object a, Object b) {
    if (a == null || b == null) {
      return Answer.NULL;
    }
    // But to Java, -0.0 is less than 0.0.
    Object left = a.equals(-0.0) ? Double.valueOf(0.0) : a;
    Object right = b.equals(-0.0) ? Double.valueOf(0.0) : b;
    int order = ((Comparable<Object>) left).compareTo(right);
    switch (comparison) {
      case "=":
        return Answer.of(order == 0);
      case "<>":
        return Answer.of(order != 0);
      case "<":
        return Answer.of(order < 0);
      case "<=":
        return Answer.of(order <= 0);
      case ">":
        return Answer.of(order > 0);
      default:
        return Answer.of(order >= 0);
    }
  }
}
