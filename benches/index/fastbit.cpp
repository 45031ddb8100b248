// FastBit's answers to the questions of run.py, as JSON:
//   fastbit FOLDER COLUMN OTHER INDEX THRESHOLD...
// FOLDER is a FastBit partition of floats; INDEX says how COLUMN is indexed, where that has not been done; histograms are of
// OTHER. Milliseconds are medians. All of it runs on one thread.
#include <ibis.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

static double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F> static double best(F work) {
    work();
    std::vector<double> times;
    const double since = now();
    while (times.size() < 3 || (now() - since < 600 && times.size() < 200)) {
        const double start = now();
        work();
        times.push_back(now() - start);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main(int argc, char **argv) {
    if (argc < 5) return 1;
    ibis::init();
    ibis::gVerbose = -1;
    const std::string folder(argv[1]), column(argv[2]), other(argv[3]);
    ibis::part part(folder.c_str(), static_cast<const char *>(0));
    double start = now();
    part.getColumn(column.c_str())->loadIndex(argv[4]);
    std::printf("{\"build_ms\": %.1f, \"rows\": %lu, \"answers\": [", now() - start, static_cast<unsigned long>(part.nRows()));
    for (int n = 5; n < argc; ++n) {
        const std::string text = column + " > " + argv[n];
        long hits = 0;
        const double bitmap = best([&] {
            ibis::query q("bench", &part);
            q.setWhereClause(text.c_str());
            q.evaluate();
            hits = q.getNumHits();
        });
        const double positions = best([&] {
            ibis::query q("bench", &part);
            q.setWhereClause(text.c_str());
            q.evaluate();
            std::vector<uint32_t> rows;
            q.getHitRows(rows);
            if (static_cast<long>(rows.size()) != hits) std::abort();
        });
        const double values = best([&] {
            ibis::query q("bench", &part);
            q.setWhereClause(text.c_str());
            q.evaluate();
            ibis::array_t<float> *found = q.getQualifiedFloats(column.c_str());
            if (found == 0 || static_cast<long>(found->size()) != hits) std::abort();
            delete found;
        });
        const double histogram = best([&] {
            std::vector<uint32_t> counts;
            part.get1DDistribution(text.c_str(), other.c_str(), 0.0, 6.0, 6.0 / 64, counts);
        });
        std::printf("%s{\"threshold\": %s, \"hits\": %ld, \"bitmap\": %.3f, \"positions\": %.3f, \"values\": %.3f, \"histogram\": %.3f}", n > 5 ? ", " : "", argv[n], hits, bitmap, positions, values, histogram);
        std::fflush(stdout);
    }
    std::printf("]}\n");
}
