// A whole executor behind the markstep process protocol: eager, in C++17, needing nothing.
//
//   c++ -std=c++17 -O1 -o executor docs/examples/executor.cpp
//   markstep run --adapter 'exec:./executor'

#include <cctype>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// ---- JSON, as much as the protocol needs ----------------------------------------------------

struct Json {
    enum Kind { null, truth, number, text, array, object } kind = null;
    bool flag = false;
    double value = 0;
    std::string string;
    std::vector<Json> items;
    std::map<std::string, Json> members;

    const Json& operator[](const std::string& key) const {
        static const Json nothing;
        auto found = members.find(key);
        return found == members.end() ? nothing : found->second;
    }
};

struct Reader {
    const std::string& line;
    size_t at = 0;

    [[noreturn]] void fail() { throw std::runtime_error("not JSON at " + std::to_string(at)); }
    char peek() {
        while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at]))) at++;
        return at < line.size() ? line[at] : '\0';
    }
    void expect(char c) {
        if (peek() != c) fail();
        at++;
    }
    bool take(char c) { return peek() == c && ++at; }
    bool word(const std::string& w) {
        if (line.compare(at, w.size(), w) != 0) return false;
        at += w.size();
        return true;
    }
    std::string quoted() {
        expect('"');
        std::string result;
        while (at < line.size() && line[at] != '"') {
            if (line[at] == '\\') at++;  // the names of the protocol need no other escapes
            result += line.at(at++);
        }
        expect('"');
        return result;
    }
    Json read() {
        Json j;
        char c = peek();
        if (c == '{') {
            j.kind = Json::object;
            for (at++; !take('}'); take(',')) {
                std::string key = quoted();
                expect(':');
                j.members[key] = read();
            }
        } else if (c == '[') {
            j.kind = Json::array;
            for (at++; !take(']'); take(',')) j.items.push_back(read());
        } else if (c == '"') {
            j.kind = Json::text;
            j.string = quoted();
        } else if (word("null")) {
        } else if (word("true") || word("false")) {
            j.kind = Json::truth;
            j.flag = line[at - 2] == 'u';
        } else {
            const char* begin = line.c_str() + at;
            char* end = nullptr;
            j.kind = Json::number;
            j.value = std::strtod(begin, &end);
            if (end == begin) fail();
            at += static_cast<size_t>(end - begin);
        }
        return j;
    }
};

// ---- tensors --------------------------------------------------------------------------------

struct Refused : std::runtime_error {  // an action that no program can mean
    using std::runtime_error::runtime_error;
};

using Shape = std::vector<size_t>;

struct Tensor {
    Shape shape;
    std::string dtype;
    std::vector<double> values;
    bool fits(const Tensor& other) const { return shape == other.shape && dtype == other.dtype; }
};

std::map<long, Tensor> tensors;

void need(bool condition, const std::string& what) {
    if (!condition) throw Refused(what);
}
size_t count(const Shape& shape, size_t from = 0) {
    size_t product = 1;
    for (size_t i = from; i < shape.size(); i++) product *= shape[i];
    return product;
}
Tensor& get(const Json& name) {
    auto found = tensors.find(static_cast<long>(name.value));
    need(name.kind == Json::number && found != tensors.end(), "there is no such tensor");
    return found->second;
}

Tensor matmul(const Tensor& a, const Tensor& b) {
    need(!a.shape.empty() && !b.shape.empty() && a.shape.back() == b.shape[0], "matmul: shapes");
    size_t inner = b.shape[0], columns = count(b.shape, 1);
    Tensor c{Shape(a.shape.begin(), a.shape.end() - 1), a.dtype, {}};
    c.shape.insert(c.shape.end(), b.shape.begin() + 1, b.shape.end());
    for (size_t row = 0; row * inner < a.values.size(); row++)
        for (size_t column = 0; column < columns; column++) {
            double sum = 0;
            for (size_t k = 0; k < inner; k++)
                sum += a.values[row * inner + k] * b.values[k * columns + column];
            c.values.push_back(sum);
        }
    return c;
}

Tensor compute(const std::string& name, std::vector<Tensor> operands, const Json& scalar) {
    size_t suffix = name.find("_scalar");
    std::string op = name.substr(0, suffix);
    need((suffix != std::string::npos) == (scalar.kind == Json::number), "a scalar or none");
    for (const Tensor& t : operands) need(t.dtype == operands[0].dtype, "the dtypes differ");
    if (scalar.kind == Json::number) operands.push_back({{}, operands[0].dtype, {scalar.value}});
    need(operands.size() == (op == "neg" ? 1u : 2u), op + ": number of operands");
    Tensor a = operands[0], b = operands.back();
    if (op == "neg") {
        for (double& x : a.values) x = -x;
        return a;
    }
    if (op == "matmul") return matmul(a, b);
    need(op == "add" || op == "sub" || op == "mul", "there is no op " + name);
    need(a.shape == b.shape || a.shape.empty() || b.shape.empty(), op + ": shapes differ");
    Tensor c{a.shape.empty() ? b.shape : a.shape, a.dtype, {}};
    for (size_t i = 0; i < count(c.shape); i++) {
        double x = a.values[a.shape.empty() ? 0 : i], y = b.values[b.shape.empty() ? 0 : i];
        c.values.push_back(op == "add" ? x + y : op == "sub" ? x - y : x * y);
    }
    return c;
}

// ---- actions: the value as JSON -------------------------------------------------------------

std::string apply(const Json& a) {
    const std::string& action = a["action"].string;
    long out = static_cast<long>(a["out"].value);
    need(a["out"].kind != Json::number || !tensors.count(out), "the number is taken");
    if (action == "CreateFromHost") {
        Tensor t{{}, a["dtype"].string, {}};
        for (const Json& size : a["shape"].items) t.shape.push_back(static_cast<size_t>(size.value));
        for (const Json& x : a["value"].items) t.values.push_back(x.value);
        need(count(t.shape) == t.values.size(), "the values do not fill the shape");
        tensors[out] = t;
    } else if (action == "Apply") {
        std::vector<Tensor> operands;
        for (const Json& name : a["inputs"].items) operands.push_back(get(name));
        tensors[out] = compute(a["op"].string, operands, a["scalar"]);
    } else if (action == "AssignInPlace") {
        std::vector<Tensor> operands{get(a["target"])};
        for (const Json& name : a["others"].items) operands.push_back(get(name));
        Tensor result = compute(a["op"].string, operands, a["scalar"]);
        need(result.fits(get(a["target"])), "the result does not fit its target");
        get(a["target"]) = result;
    } else if (action == "Clone") {
        tensors[out] = get(a["source"]);
    } else if (action == "CopyInto") {
        need(get(a["target"]).fits(get(a["source"])), "the layouts differ");
        get(a["target"]) = get(a["source"]);
    } else if (action == "Drop") {
        get(a["tensor"]);
        tensors.erase(static_cast<long>(a["tensor"].value));
    } else if (action == "ReadOne") {
        std::ostringstream text;
        text.precision(17);
        const char* separator = "[";
        for (double x : get(a["tensor"]).values) text << std::exchange(separator, ",") << x;
        return text.str() + (*separator == '[' ? "[]" : "]");
    } else {  // Sync, SyncLive, StepBarrier, WaitDevice: everything is computed already
        for (const Json& name : a["tensors"].items) get(name);
    }
    return "null";
}

int main() {
    std::cout << R"({"hello":{"protocol":1,"name":"example-cpp","version":"1","capabilities":[]}})"
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        try {
            Json message = Reader{line}.read();
            if (message.members.count("bye")) return 0;
            if (message.members.count("reset")) {
                tensors.clear();
                std::cout << R"({"done":{}})" << std::endl;
                continue;
            }
            std::string value = apply(message["apply"]);
            std::cout << R"({"observation":{"value":)" << value << "}}" << std::endl;
        } catch (const Refused& refusal) {
            std::cout << R"({"observation":{"error":"bad-argument","message":")" << refusal.what()
                      << R"("}})" << std::endl;
        } catch (const std::exception& error) {
            std::cout << R"({"fault":{"message":")" << error.what() << R"("}})" << std::endl;
        }
    }
}
