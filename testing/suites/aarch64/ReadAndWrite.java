import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Reads a dataset with Spark on whatever processor this runs, writes its rows, and prints what it found. */
final class ReadAndWrite {
  private ReadAndWrite() {}

  public static void main(String[] arguments) throws Exception {
    String source = arguments[0];
    String dataset = arguments[1];
    String target = arguments[2];
    try (SparkSession spark = SparkSession.builder()
        .master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()) {
      Dataset<Row> rows = spark.read().format("hdf5").option("dataset", dataset).load(source);
      Row found = rows.selectExpr("count(*)", "sum(value)", "min(value)", "max(value)").head();
      rows.select("value").coalesce(1).write().format("hdf5").save(target);
      System.out.println("found " + System.getProperty("os.arch") + " " + found.mkString(" "));
    }
  }
}
