package io.hyperslab.spark.writing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.hyperslab.FileWrite;
import io.hyperslab.InternalException;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of rows that are added to the table of a file: they must be all its columns, and only these. */
final class AppendedColumns {
  private AppendedColumns() {}

  /**
   * The request with the names that the file has for the columns. They may differ in case, unless {@code
   * spark.sql.caseSensitive} is set.
   *
   * @param file path or address of a file that exists
   * @param session JSON: the options by which it is opened
   * @throws io.hyperslab.ConflictException if the columns or their types differ, or the columns of the file have different lengths
   */
  static String request(WriteOptions options, StructType schema, String file, String session) {
    boolean isCaseSensitive = SQLConf.get().caseSensitiveAnalysis();
    String[] names;
    try {
      names = new ObjectMapper()
          .readValue(
              FileWrite.namesInFile(file, options.request(schema), isCaseSensitive, session),
              String[].class);
    } catch (JsonProcessingException error) {
      throw new InternalException("the native library returned invalid JSON: " + error);
    }
    StructType named = new StructType();
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      named = named.add(new StructField(
          names[i], fields[i].dataType(), fields[i].nullable(), fields[i].metadata()));
    }
    return options.request(named);
  }
}
