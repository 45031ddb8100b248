import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** What tools such as DBeaver do with the JDBC driver of Arrow Flight SQL; prints a line for each answer. */
public final class Client {
  private static String url;
  private static Properties properties;

  public static void main(String[] arguments) throws Exception {
    url = arguments[0];
    properties = new Properties();
    for (int i = 1; i < arguments.length; i += 2) {
      properties.put(arguments[i], arguments[i + 1]);
    }
    try (Connection connection = DriverManager.getConnection(url, properties)) {
      metadata(connection.getMetaData());
      queries(connection);
      prepared(connection);
      errors(connection);
      cancelled(connection);
    }
    users();
  }

  private static void metadata(DatabaseMetaData data) throws SQLException {
    System.out.println("product " + data.getDatabaseProductName() + " readonly " + data.isReadOnly() + " quote " + data.getIdentifierQuoteString());
    System.out.println("transactions " + data.supportsTransactions() + " outer " + data.supportsFullOuterJoins() + " statement " + data.getMaxStatementLength());
    print("catalogs", data.getCatalogs());
    print("schemas", data.getSchemas());
    print("types", data.getTableTypes());
    print("tables", data.getTables(null, "numbers.h5", "%", null));
    print("columns", data.getColumns(null, "numbers.h5", "x", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME");
    print("keys", data.getPrimaryKeys(null, "numbers.h5", "x"));
    print("imported", data.getImportedKeys(null, "numbers.h5", "x"));
    print("typeinfo", data.getTypeInfo(), "TYPE_NAME", "DATA_TYPE");
    System.out.println("functions " + data.getNumericFunctions());
  }

  private static void queries(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      print("query", statement.executeQuery("select x, dim_0 from numbers.x where dim_0 < 3 order by dim_0"));
      print("count", statement.executeQuery("select count(*) as n from numbers.x"));
      print("values", statement.executeQuery("select 1::tinyint a, 2.5 b, 'ä' c, true d, date '2026-01-02' e, timestamp '2026-01-02 03:04:05' f, null g"));
      long rows = 0;
      long sum = 0;
      try (ResultSet all = statement.executeQuery("select x from numbers.x")) {
        while (all.next()) {
          rows++;
          sum += all.getLong(1);
        }
      }
      System.out.println("all " + rows + " " + sum);
    }
  }

  private static void prepared(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("select count(*), max(x) from numbers.x where x >= ? and x < ?")) {
      for (int low = 0; low < 30; low += 10) {
        statement.setInt(1, low);
        statement.setInt(2, low + 10);
        print("prepared", statement.executeQuery());
      }
      statement.setLong(1, 5);
      statement.setDouble(2, 7.5);
      print("mixed", statement.executeQuery());
    }
    try (PreparedStatement statement = connection.prepareStatement("select ? = 'b', ?::date - date '2026-01-01', ? or false")) {
      statement.setString(1, "b");
      statement.setDate(2, Date.valueOf("2026-01-11"));
      statement.setBoolean(3, true);
      print("others", statement.executeQuery());
    }
  }

  private static void errors(Connection connection) throws SQLException {
    for (String query : new String[] {"selec 1", "create table t as select 1", "select * from nofile.x", "select * from read_text('/etc/hostname')"}) {
      try (Statement statement = connection.createStatement()) {
        statement.execute(query);
        System.out.println("error none");
      } catch (SQLException error) {
        System.out.println("error " + error.getMessage().split("\n")[0]);
      }
    }
  }

  private static void cancelled(Connection connection) throws Exception {
    try (Statement statement = connection.createStatement()) {
      ResultSet rows = statement.executeQuery("select a.range * b.range from range(1000000) a, range(1000000) b");
      rows.next();
      statement.cancel();
      long seen = 0;
      try {
        while (rows.next()) {
          seen++;
        }
        System.out.println("cancelled " + (seen < 1_000_000_000_000L - 1 ? "early" : "never"));
      } catch (SQLException error) {
        System.out.println("cancelled early");
      }
    }
  }

  /** Two users, each with a connection of its own and 100 queries. */
  private static void users() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(2);
    List<Future<Integer>> users = new ArrayList<>();
    for (int user = 0; user < 2; user++) {
      users.add(pool.submit((Callable<Integer>) Client::hundred));
    }
    int right = 0;
    for (Future<Integer> user : users) {
      right += user.get();
    }
    pool.shutdown();
    System.out.println("right " + right);
  }

  private static int hundred() throws SQLException {
    int right = 0;
    try (Connection connection = DriverManager.getConnection(url, properties);
        Statement statement = connection.createStatement()) {
      for (long number = 0; number < 100; number++) {
        try (ResultSet rows = statement.executeQuery("select sum(x) from numbers.x where x < " + number)) {
          rows.next();
          right += rows.getLong(1) == number * (number - 1) / 2 ? 1 : 0;
        }
      }
    }
    return right;
  }

  private static void print(String what, ResultSet rows, String... names) throws SQLException {
    StringBuilder line = new StringBuilder(what);
    while (rows.next()) {
      line.append(" |");
      int columns = names.length == 0 ? rows.getMetaData().getColumnCount() : names.length;
      for (int column = 1; column <= columns; column++) {
        line.append(' ').append(names.length == 0 ? rows.getObject(column) : rows.getObject(names[column - 1]));
      }
    }
    rows.close();
    System.out.println(line);
  }

  private Client() {}
}
